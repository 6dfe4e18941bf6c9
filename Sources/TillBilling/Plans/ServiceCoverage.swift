/// What a service is for.
public enum ServiceCoverage: Hashable, Sendable {
    /// All devices of the account.
    case account
    /// These, as their orders named them.
    case devices(Set<DeviceID>)

    /// What one purchase of a plan is for.
    public init(of plan: Plan, on device: DeviceID?) {
        self =
            switch (plan.scope, device) {
            case (.device, let device?): .devices([device])
            case (.account, _), (.device, nil): .account
            }
    }

    /// Nil for the account.
    public var deviceIDs: [DeviceID]? {
        switch self {
        case .account: nil
        case .devices(let devices): devices.sorted()
        }
    }

    /// All that any of them is for.
    init(joining all: [ServiceCoverage]) {
        var sets: [Set<DeviceID>] = []
        for coverage in all {
            guard case .devices(let devices) = coverage else {
                self = .account
                return
            }
            sets.append(devices)
        }
        // The largest takes in the others, so that going to and fro between plans stays cheap.
        let largest = sets.indices.max { sets[$0].count < sets[$1].count }
        var joined = largest.map { sets[$0] } ?? []
        for index in sets.indices where index != largest { joined.formUnion(sets[index]) }
        self = .devices(joined)
    }
}
