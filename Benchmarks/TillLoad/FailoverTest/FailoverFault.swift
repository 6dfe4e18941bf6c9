/// What goes wrong, by a name that the report shows.
enum FailoverFault: String, CaseIterable, Sendable {
    case crashLeader = "the leader's machine dies"
    case killPrimary = "kill -9 of the primary"
    case killPatroni = "kill -9 of the leader's Patroni"
    case unplugLeader = "the leader loses its network"
    case freezePrimary = "the leader freezes and wakes as a stranger"
    case fillLeader = "the leader's disk is full"
    case slowLeader = "the leader's disk is slow"
    case switchover = "a promotion"
    case crashStandby = "a standby's machine dies"
    case killStandby = "kill -9 of a standby"
    case unplugStandby = "a standby loses its network"
    case freezeStandby = "a standby freezes"
    case fillStandby = "a standby's disk is full"
    case killEtcd = "kill -9 of etcd"
    case cutNodes = "the leader and a standby lose each other"
    case cutStandbys = "the standbys lose each other"
    case cutServer = "a server and the leader lose each other"
    case cutProxy = "HAProxy and a server lose each other"
    case killServer = "kill -9 of a server"
    case freezeServer = "a server freezes and wakes after its lease"
    case killProxy = "kill -9 of HAProxy"

    /// Faults that take the leadership from a node.
    static let leaderLosses: [Self] = [
        .crashLeader, .killPrimary, .unplugLeader, .freezePrimary, .fillLeader, .killPatroni,
    ]

    /// Faults in an order from the seed: three of ten lose the leader, the others come in turns.
    static func schedule(_ count: Int, _ random: inout some RandomNumberGenerator) -> [Self] {
        let others = allCases.filter { !leaderLosses.contains($0) }
        let losses = count * 3 / 10
        func turns(_ kinds: [Self], _ count: Int) -> [Self] {
            let order = kinds.shuffled(using: &random)
            return (0..<count).map { order[$0 % order.count] }
        }
        return (turns(leaderLosses, losses) + turns(others, count - losses)).shuffled(using: &random)
    }

    /// What the script does: now, and after a while.
    struct Steps: Sendable {
        var strike: [[String]]
        var heal: [[String]] = []
        /// Seconds from one to the other.
        var length: ClosedRange<Double> = 2...6
        var parts: String
    }

    /// The roles at the moment of the strike.
    struct Roles: Sendable {
        let leader: String
        let standby: String
        let other: String
        let server: String
    }

    func steps(_ roles: Roles) -> Steps {
        let (leader, standby, server) = (roles.leader, roles.standby, roles.server)
        return switch self {
        case .crashLeader:
            Steps(strike: [["crash", leader]], heal: [["boot", leader]], length: 1...15, parts: leader)
        case .killPrimary: Steps(strike: [["kill", "postgres", leader]], parts: leader)
        case .killPatroni:
            // systemd starts it again at once; a slow start outlives the leader's time.
            Steps(
                strike: [["kill", "patroni", leader]], heal: [["start", "patroni", leader]], length: 0.1...14,
                parts: leader)
        case .unplugLeader:
            Steps(strike: [["unplug", leader]], heal: [["plug", leader]], length: 4...15, parts: leader)
        case .freezePrimary:
            Steps(
                strike: [["freeze", "patroni", leader], ["freeze", "postgres", leader]],
                heal: [["thaw", "postgres", leader], ["thaw", "patroni", leader]], length: 14...18, parts: leader)
        case .fillLeader: Steps(strike: [["fill", leader]], heal: [["clear", leader]], length: 10...20, parts: leader)
        case .slowLeader: Steps(strike: [["slow", leader]], heal: [["quick", leader]], length: 5...8, parts: leader)
        case .switchover: Steps(strike: [["switchover", standby]], parts: "\(leader) to \(standby)")
        case .crashStandby:
            Steps(strike: [["crash", standby]], heal: [["boot", standby]], length: 1...10, parts: standby)
        case .killStandby: Steps(strike: [["kill", "postgres", standby]], parts: standby)
        case .unplugStandby:
            Steps(strike: [["unplug", standby]], heal: [["plug", standby]], length: 2...10, parts: standby)
        case .freezeStandby:
            Steps(strike: [["freeze", "postgres", standby]], heal: [["thaw", "postgres", standby]], parts: standby)
        case .fillStandby:
            Steps(strike: [["fill", standby]], heal: [["clear", standby]], length: 5...10, parts: standby)
        case .killEtcd:
            Steps(
                strike: [["kill", "etcd", leader]], heal: [["start", "etcd", leader]], length: 0.5...8, parts: leader)
        case .cutNodes:
            Steps(
                strike: [["cut", leader, standby]], heal: [["mend", leader, standby]], length: 2...12,
                parts: "\(leader), \(standby)")
        case .cutStandbys:
            Steps(
                strike: [["cut", standby, roles.other]], heal: [["mend", standby, roles.other]], length: 2...12,
                parts: "\(standby), \(roles.other)")
        case .cutServer:
            Steps(
                strike: [["cut", server, leader]], heal: [["mend", server, leader]], parts: "\(server), \(leader)")
        case .cutProxy:
            Steps(strike: [["cut", "proxy", server]], heal: [["mend", "proxy", server]], parts: "proxy, \(server)")
        case .killServer:
            Steps(
                strike: [["kill", "till", server]], heal: [["start", "till", server]], length: 0.1...4, parts: server)
        case .freezeServer:
            Steps(
                strike: [["freeze", "till", server]], heal: [["thaw", "till", server]], length: 17...20, parts: server)
        case .killProxy:
            Steps(
                strike: [["kill", "haproxy", "proxy"]], heal: [["start", "haproxy", "proxy"]], length: 0.1...1.5,
                parts: "proxy")
        }
    }
}
