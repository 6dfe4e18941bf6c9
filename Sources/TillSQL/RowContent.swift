/// The content of rows as seals hash it: each value with its type and its length, so that equal bytes mean equal
/// values, on every database (docs/decisions/0080).
///
/// It owns memory that it uses again: a ledger has several such rows for each purchase.
public final class RowContent {
    @exclusivity(unchecked) private var memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 2_048, alignment: 8)
    @exclusivity(unchecked) public private(set) var count = 0

    public init() {}

    deinit { memory.deallocate() }

    /// Valid until the content changes.
    public var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: memory[..<count]) }
    public var array: [UInt8] { [UInt8](bytes) }

    public func clear() { count = 0 }

    public func append(_ value: SQLValue) {
        switch value {
        case .null: appendNull()
        case .integer(let integer): append(integer)
        case .text(var text): text.withUTF8 { append(text: UnsafeRawBufferPointer($0)) }
        case .blob(let blob): blob.withUnsafeBytes { append(blob: $0) }
        }
    }

    public func appendNull() {
        reserve(1)
        memory[count] = 0
        count += 1
    }

    public func append(_ integer: Int64) {
        reserve(9)
        memory[count] = 1
        memory.storeBytes(of: integer.bigEndian, toByteOffset: count + 1, as: Int64.self)
        count += 9
    }

    public func append(text: UnsafeRawBufferPointer) { append(text, kind: 2) }
    public func append(blob: UnsafeRawBufferPointer) { append(blob, kind: 3) }

    /// Appends bytes without a type or a length.
    public func append(raw content: UnsafeRawBufferPointer) {
        reserve(content.count)
        UnsafeMutableRawBufferPointer(rebasing: memory[count...]).copyMemory(from: content)
        count += content.count
    }

    private func append(_ content: UnsafeRawBufferPointer, kind: UInt8) {
        reserve(5)
        memory[count] = kind
        let length = UInt32(truncatingIfNeeded: content.count)
        memory.storeBytes(of: length.bigEndian, toByteOffset: count + 1, as: UInt32.self)
        count += 5
        append(raw: content)
    }

    private func reserve(_ more: Int) {
        guard count + more > memory.count else { return }
        let larger = UnsafeMutableRawBufferPointer.allocate(byteCount: 2 * (count + more), alignment: 8)
        larger.copyMemory(from: bytes)
        memory.deallocate()
        memory = larger
    }
}
