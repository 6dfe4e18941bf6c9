import TillBilling

/// Why the journal did not take a change. Then nothing changed, in memory or on disk.
public enum JournalFault: Error, Hashable, Sendable {
    /// The disk did not do it.
    case disk(DiskFault)
    /// The file was written by another version of the app, and is left as it is.
    case otherVersion(UInt32)
    /// There is no order of that id.
    case unknownOrder(OrderID)
    /// An order of that id is there already.
    case knownOrder(OrderID)
    /// An order can't go from the one status to the other.
    case illegalMove(from: OrderStatus, to: OrderStatus)

    /// Whether the same change may succeed later without anybody repairing the device.
    public var isRetryable: Bool {
        switch self {
        case .disk(let fault): fault.isRetryable
        default: false
        }
    }

    /// Stable.
    public var code: String {
        switch self {
        case .disk(let fault): fault.kind.rawValue
        case .otherVersion: "journal_version"
        case .unknownOrder: "unknown_order"
        case .knownOrder: "known_order"
        case .illegalMove: "illegal_move"
        }
    }

    /// What the buyer is told.
    public var sentence: Text {
        switch self {
        case .disk(let fault): fault.sentence
        case .otherVersion:
            Text(
                en: "The list of purchases was written by another version of the app. Update the app.",
                zh: "购买记录由另一版本的 App 写入，请更新 App。")
        case .unknownOrder: Refusal.unknownOrder.sentence
        case .knownOrder: Refusal.orderConflict.sentence
        case .illegalMove: Refusal.illegalMove.sentence
        }
    }
}

/// What opening the journal found on the disk.
public struct JournalRecovery: Hashable, Sendable {
    /// Orders that are there.
    public let orders: Int
    /// Bytes cut off at the end: a change that was being written when the device went down, or that went bad later.
    public let cutTail: Int
    /// Bytes between good changes that could not be read. The changes around them are all there.
    public let damaged: Int

    /// Whether everything was as it had been left.
    public var isClean: Bool { cutTail == 0 && damaged == 0 }
}
