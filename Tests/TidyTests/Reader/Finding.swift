/// One place that breaks a rule, with the remedy.
struct Finding: Hashable, CustomStringConvertible {
    let path: String
    /// Counted from 1; 0 for the whole file.
    let line: Int
    let message: String

    init(_ path: String, _ line: Int, _ message: String) {
        self.path = path
        self.line = line
        self.message = message
    }

    var description: String {
        line == 0 ? "\(path): \(message)" : "\(path):\(line): \(message)"
    }
}
