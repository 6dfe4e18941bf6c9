/// Where an order stands (L6). The raw value is `statusCode` on the wire; the first five are the articles' own.
public enum OrderStatus: Int, Hashable, Sendable, CaseIterable {
    case prepared = 0
    case completed = 1
    case ongoing = 2
    case cancelled = 3
    case failed = 4
    case deferred = 5
    case refunded = 6

    /// The word on the wire.
    public var name: String {
        switch self {
        case .prepared: "prepared"
        case .completed: "completed"
        case .ongoing: "ongoing"
        case .cancelled: "cancelled"
        case .failed: "failed"
        case .deferred: "deferred"
        case .refunded: "refunded"
        }
    }

    public init?(name: String) {
        guard let status = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = status
    }

    /// What a buyer reads.
    public var title: Text {
        switch self {
        case .prepared: Text(en: "Waiting for payment", zh: "待充值")
        case .completed: Text(en: "Completed", zh: "充值完成")
        case .ongoing: Text(en: "In progress", zh: "充值中")
        case .cancelled: Text(en: "Cancelled", zh: "充值取消")
        case .failed: Text(en: "Failed", zh: "充值失败")
        case .deferred: Text(en: "Waiting for approval", zh: "等待批准")
        case .refunded: Text(en: "Refunded", zh: "已退款")
        }
    }

    /// The moves an order may make in one step. Money outranks a failure: what was cancelled or failed may turn out
    /// paid (T3); what is completed never fails (DESIGN §4, invariant 5).
    public var next: Set<OrderStatus> {
        switch self {
        case .prepared: [.ongoing, .completed, .cancelled, .failed, .deferred]
        case .ongoing: [.completed, .refunded]
        case .deferred: [.ongoing, .completed, .cancelled, .failed]
        case .cancelled, .failed: [.ongoing]
        case .completed: [.refunded]
        case .refunded: [.completed]
        }
    }

    public func mayMove(to status: OrderStatus) -> Bool { next.contains(status) }

    /// The shortest legal way from here to `status`, without the start; nil when there is none.
    public func way(to status: OrderStatus) -> [OrderStatus]? {
        if mayMove(to: status) { return [status] }
        if mayMove(to: .ongoing), OrderStatus.ongoing.mayMove(to: status) { return [.ongoing, status] }
        return nil
    }
}
