/// What goes wrong on purpose: dials for every endpoint, and a seed that decides whom they strike.
public struct FaultSettings: Sendable, Hashable, Codable {
    /// The same seed strikes the same requests. Up to 2^53 - 1, so that every reader of JSON keeps it whole.
    public var seed: Int64
    /// For every endpoint that has none of its own.
    public var defaults: Dials
    public var endpoints: [DisturbedEndpoint: Dials]
    /// How often the store was opened with these: another start, other faults, or a request that brings a process down
    /// would meet the same one for ever.
    var start: Int64 = 0

    public static let largestSeed: Int64 = (1 << 53) - 1

    public init(seed: Int64, defaults: Dials = Dials(), endpoints: [DisturbedEndpoint: Dials] = [:]) {
        self.seed = seed
        self.defaults = defaults
        self.endpoints = endpoints
    }

    func dials(of endpoint: DisturbedEndpoint) -> Dials { (endpoints[endpoint] ?? Dials()).over(defaults) }
}
