/// What a service is for.
public enum ServiceCoverage: Hashable, Sendable {
    /// All devices of the account.
    case account
    /// These, as their orders named them.
    case devices(Set<String>)

    /// What one purchase of a plan is for.
    public init(of plan: Plan, on device: String?) {
        self =
            switch (plan.scope, device) {
            case (.device, let device?): .devices([device])
            case (.account, _), (.device, nil): .account
            }
    }

    /// Nil for the account.
    public var deviceIDs: [String]? {
        switch self {
        case .account: nil
        case .devices(let devices): devices.sorted()
        }
    }

    /// All that any of them is for.
    init(joining all: [ServiceCoverage]) {
        var joined: Set<String> = []
        for case .devices(let devices) in all where devices.count > joined.count { joined = devices }
        for coverage in all {
            guard case .devices(let devices) = coverage else {
                self = .account
                return
            }
            // The largest is there already; to walk through it each time would make many changes of plan slow.
            if devices.count < joined.count || devices.first.map(joined.contains) != true { joined.formUnion(devices) }
        }
        self = .devices(joined)
    }
}
