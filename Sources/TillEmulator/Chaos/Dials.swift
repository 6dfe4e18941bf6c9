/// How an endpoint is disturbed. What is nil or missing is as the dials underneath say, and in the end off.
public struct Dials: Sendable, Hashable, Codable {
    /// Nobody is held up for longer than this, whatever the dials say; milliseconds.
    public static let longestWait: Int64 = 120_000
    /// Milliseconds that a clock may be off at most, either way: a year.
    public static let longestSkew: Int64 = 366 * 86_400_000

    /// Probabilities, 0 to 1.
    public var chances: [Dial: Double] = [:]
    /// Milliseconds that a delay takes at least, and at most.
    public var delayFrom: Int64?
    public var delayTo: Int64?
    /// Milliseconds after which a request that waits for the next one goes on without it.
    public var reorderWithin: Int64?
    /// Milliseconds by which signed dates, and the time in Retry-After, are off. Nothing happens sooner or later by it.
    public var clockSkew: Int64?

    public init() {}

    public init(_ chances: [Dial: Double]) { self.chances = chances }

    func chance(of dial: Dial) -> Double { chances[dial] ?? 0 }

    /// From 100 ms to a second, unless told.
    var delay: ClosedRange<Int64> {
        let from = Self.wait(delayFrom ?? min(100, delayTo ?? 100))
        return from...max(from, Self.wait(delayTo ?? max(1_000, from)))
    }

    var patience: Int64 { Self.wait(reorderWithin ?? 1_000) }

    var skew: Int64 { min(max(clockSkew ?? 0, -Self.longestSkew), Self.longestSkew) }

    private static func wait(_ milliseconds: Int64) -> Int64 { min(max(milliseconds, 0), longestWait) }

    /// These, and what they leave open from `others`.
    func over(_ others: Dials) -> Dials {
        var dials = self
        dials.chances.merge(others.chances) { own, _ in own }
        dials.delayFrom = delayFrom ?? others.delayFrom
        dials.delayTo = delayTo ?? others.delayTo
        dials.reorderWithin = reorderWithin ?? others.reorderWithin
        dials.clockSkew = clockSkew ?? others.clockSkew
        return dials
    }
}
