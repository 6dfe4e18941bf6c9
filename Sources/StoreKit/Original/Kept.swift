import Foundation

/// A value that many threads use, one at a time. What runs inside `with` calls nobody.
final class Kept<Value>: @unchecked Sendable {
    // Guards `value`; it is never handed out.
    private let lock = NSLock()
    private var value: Value

    init(_ value: Value) { self.value = value }

    func with<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
        try lock.withLock { try body(&value) }
    }
}
