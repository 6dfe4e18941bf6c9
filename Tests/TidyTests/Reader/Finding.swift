/// One place that breaks a rule, with what to do about it.
struct Finding: Hashable, CustomStringConvertible {
    let path: String
    /// Counted from 1; 0 where the whole file is meant.
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
