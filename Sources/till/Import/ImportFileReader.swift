import TillBilling
import TillCrypto
import TillJSON
import TillLedger

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Reads a file row by row, and never holds more of it than one batch: lines of JSON, or a table with a header.
final class ImportFileReader {
    enum Form { case lines, table(separator: UInt8) }

    private let path: String
    private let descriptor: Int32
    private var buffer: [UInt8] = []
    private var start = 0
    private var isAtEnd = false
    private var line: Int64 = 1
    private var header: [String] = []
    private(set) var form = Form.lines
    /// Bytes read so far, for the progress.
    private(set) var position: Int64 = 0
    private static let chunk = 1 << 20
    /// A receipt has at most 8 MiB, which base64 makes a third longer.
    private static let lineLimit = 12 << 20

    init(_ path: String) throws {
        self.path = path
        descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw CommandError(FileError(path, errno).sentence) }
        try fill()
        if buffer.starts(with: [0xEF, 0xBB, 0xBF]) { start = 3 }
        let first = buffer[start...].first { $0 > 0x20 }
        guard first != nil else {
            throw CommandError(LocalizedText(en: "\(shown(path)): the file is empty", zh: "\(shown(path))：文件为空"))
        }
        guard first != UInt8(ascii: "{") else { return }
        let head = buffer[start...].prefix { $0 != 0x0A }
        let separators = [UInt8(ascii: ","), UInt8(ascii: ";"), UInt8(ascii: "\t")]
        let found = separators.max { a, b in head.count { $0 == a } < head.count { $0 == b } }
        form = .table(separator: found ?? separators[0])
        header = try record()?.map { $0.trimmed } ?? []
    }

    deinit { close(descriptor) }

    /// The SHA-256 of a file.
    static func digest(of path: String) throws -> [UInt8] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw CommandError(FileError(path, errno).sentence) }
        defer { close(descriptor) }
        let stream = SHA256Stream()
        var chunk = [UInt8](repeating: 0, count: Self.chunk)
        while true {
            let count = chunk.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
            if count == 0 { return stream.finish() }
            if count < 0 {
                if errno == EINTR { continue }
                throw CommandError(FileError(path, errno).sentence)
            }
            chunk.withUnsafeBytes { stream.add(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
        }
    }

    /// One row, with its text for a server.
    struct Row: Sendable {
        let entry: ImportEntry
        let text: [UInt8]
    }

    /// The next rows; empty at the end.
    func next(_ count: Int, bytes limit: Int) throws -> [Row] {
        var rows: [Row] = []
        var size = 0
        while rows.count < count, size < limit, let row = try row() {
            rows.append(row)
            size += row.text.count
        }
        return rows
    }

    private func row() throws -> Row? {
        while true {
            let number = line
            guard case .table = form else {
                guard let text = try physicalLine() else { return nil }
                guard text.count <= Self.lineLimit else { return refused(number, .lineTooLong) }
                if text.allSatisfy({ $0 <= 0x20 }) { continue }
                return Row(entry: ImportEntry(line: number, object: Array(text)), text: Array(text))
            }
            guard let fields = try record() else { return nil }
            if fields == [""] { continue }
            guard fields.count == header.count else {
                return refused(number, .malformedRecord(header.count, fields.count))
            }
            let members = Dictionary(zip(header, fields.map { JSONValue.string($0) })) { first, _ in first }
            let text = JSONValue.object(members).encodedBytes()
            return Row(entry: ImportEntry(line: number, members: .success(members)), text: text)
        }
    }

    private func refused(_ line: Int64, _ why: ImportRefusal) -> Row {
        Row(entry: ImportEntry(line: line, members: .failure(why)), text: [])
    }

    // MARK: Tables

    /// The fields of the next record; nil at the end. A quoted field may contain separators, quotes and line ends.
    private func record() throws -> [String]? {
        guard case .table(let separator) = form else { return nil }
        var (fields, field, isQuoted, wasQuoted, hasAny) = ([String](), [UInt8](), false, false, false)
        while let byte = try byte() {
            hasAny = true
            if isQuoted {
                if byte != UInt8(ascii: "\"") {
                    field.append(byte)
                } else if try peek() == UInt8(ascii: "\"") {
                    field.append(byte)
                    _ = try self.byte()
                } else {
                    isQuoted = false
                }
                // An unclosed quote would swallow the rest of the file.
                if field.count > Self.lineLimit { isQuoted = false }
                continue
            }
            switch byte {
            case separator:
                fields.append(String(decoding: field, as: UTF8.self))
                (field, wasQuoted) = ([], false)
            case 0x0A:
                if field.last == 0x0D, !wasQuoted { field.removeLast() }
                return fields + [String(decoding: field, as: UTF8.self)]
            case UInt8(ascii: "\"") where field.isEmpty && !wasQuoted: (isQuoted, wasQuoted) = (true, true)
            case 0x0D where wasQuoted: break
            default: field.append(byte)
            }
        }
        return hasAny ? fields + [String(decoding: field, as: UTF8.self)] : nil
    }

    var names: [String] { header }

    // MARK: Bytes

    private func byte() throws -> UInt8? {
        guard let byte = try peek() else { return nil }
        start += 1
        if byte == 0x0A { line += 1 }
        return byte
    }

    private func peek() throws -> UInt8? {
        if start == buffer.count { try fill() }
        return start < buffer.count ? buffer[start] : nil
    }

    private func physicalLine() throws -> ArraySlice<UInt8>? {
        var searched = start
        while true {
            if let end = buffer[searched...].firstIndex(of: 0x0A) {
                defer { start = end + 1 }
                line += 1
                return buffer[start..<end]
            }
            searched = buffer.count
            // The rest of a line that is too long is read and dropped.
            if buffer.count - start > 2 * Self.lineLimit { start = buffer.count - Self.lineLimit - 1 }
            let offset = searched - start
            guard try fill() else {
                guard start < buffer.count else { return nil }
                defer { start = buffer.count }
                line += 1
                return buffer[start...]
            }
            searched = start + offset
        }
    }

    /// - Returns: whether there was more.
    @discardableResult
    private func fill() throws -> Bool {
        guard !isAtEnd else { return false }
        buffer.removeSubrange(..<start)
        start = 0
        var chunk = [UInt8](repeating: 0, count: Self.chunk)
        while true {
            let count = chunk.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw CommandError(FileError(path, errno).sentence) }
            isAtEnd = count == 0
            position += Int64(count)
            buffer += chunk[..<count]
            return count > 0
        }
    }
}

extension String {
    fileprivate var trimmed: String {
        let bytes = Array(utf8).drop { $0 <= 0x20 }
        let end = bytes.lastIndex { $0 > 0x20 }.map { $0 + 1 } ?? bytes.startIndex
        return String(decoding: bytes[bytes.startIndex..<end], as: UTF8.self)
    }
}
