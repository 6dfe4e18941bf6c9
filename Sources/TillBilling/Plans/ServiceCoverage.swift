/// What a service is for.
public enum ServiceCoverage: Hashable, Sendable {
    /// All devices of the account.
    case account
    /// One device, as its order named it. Nil for a plan that was paid without an order, where nobody named a device:
    /// it is one device's all the same, and the app decides which.
    case device(DeviceID?)

    /// What one purchase of a plan is for.
    public init(of plan: Plan, on device: DeviceID?) {
        self = plan.scope == .device ? .device(device) : .account
    }

    /// Nil for the account.
    public var deviceIDs: [DeviceID]? {
        switch self {
        case .account: nil
        case .device(let device): device.map { [$0] } ?? []
        }
    }

}

extension ServiceCoverage: Comparable {
    /// The account comes first, and a device without a name next.
    public static func < (left: ServiceCoverage, right: ServiceCoverage) -> Bool {
        switch (left, right) {
        case (_, .account): false
        case (.account, .device), (.device(nil), .device(.some)): true
        case (.device(let left?), .device(let right?)): left < right
        case (.device, .device(nil)): false
        }
    }
}
