/// A piece of code to look for, as whole words: `Date()` is not found in `CivilDate()`.
struct Needle: Hashable, Sendable {
    let text: String
    private let bytes: [UInt8]

    init(_ text: String) {
        self.text = text
        bytes = Array(text.utf8)
    }

    /// Where it stands in the line, counted in bytes from 0.
    func positions(in line: some Collection<UInt8>) -> [Int] {
        let line = Array(line)
        guard line.count >= bytes.count else { return [] }
        return (0...line.count - bytes.count).filter { start in
            guard line[start] == bytes[0], line[start..<start + bytes.count].elementsEqual(bytes) else { return false }
            let end = start + bytes.count
            let joinsBefore = start > 0 && Token.isWordByte(bytes[0]) && Token.isWordByte(line[start - 1])
            let joinsAfter = end < line.count && Token.isWordByte(bytes[bytes.count - 1]) && Token.isWordByte(line[end])
            return !joinsBefore && !joinsAfter
        }
    }

    func isFound(in line: String) -> Bool { !positions(in: line.utf8).isEmpty }
}
