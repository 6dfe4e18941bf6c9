import TillBilling
import TillJSON

// Plans and reports as JSON, for a simulation with several processes.

extension SimulationPlan {
    public var json: JSONValue {
        var members: [String: JSONValue] = [
            // As text: a seed has 64 bits, and JSON numbers may have fewer.
            "seed": .string(String(seed)), "purchases": .int(Int64(purchases)), "keepsLog": .bool(keepsLog),
            "without": .array(without.map(\.rawValue).sorted().map { .string($0) }),
        ]
        if faultLimit != .max { members["faultLimit"] = .int(Int64(faultLimit)) }
        if let phones { members["phones"] = .array(phones.sorted().map { .int(Int64($0)) }) }
        if let planted { members["planted"] = .string(planted) }
        if hasThieves { members["thieves"] = true }
        if hasFamilies { members["families"] = true }
        if !withoutThefts.isEmpty {
            members["withoutThefts"] = .array(withoutThefts.map(\.rawValue).sorted().map { .string($0) })
        }
        return .object(members)
    }

    /// Nil for invalid JSON.
    public init?(json: JSONValue) {
        guard case .object(let members) = json, case .string(let text)? = members["seed"], let seed = UInt64(text)
        else {
            return nil
        }
        self.init(seed: seed)
        if case .int(let count)? = members["purchases"] { purchases = Int(count) }
        if case .bool(let told)? = members["keepsLog"] { keepsLog = told }
        if case .int(let limit)? = members["faultLimit"] { faultLimit = Int(limit) }
        if case .array(let kinds)? = members["without"] {
            without = Set(
                kinds.compactMap { if case .string(let name) = $0 { FaultKind(rawValue: name) } else { nil } })
        }
        if case .array(let numbers)? = members["phones"] {
            phones = Set(numbers.compactMap { if case .int(let number) = $0 { Int(number) } else { nil } })
        }
        if case .string(let name)? = members["planted"] { planted = name }
        if case .bool(let isSet)? = members["thieves"] { hasThieves = isSet }
        if case .bool(let isSet)? = members["families"] { hasFamilies = isSet }
        withoutThefts = Set((members["withoutThefts"]?.texts ?? []).compactMap { TheftKind(rawValue: $0) })
    }

    private static func list(_ names: [String]) -> String { names.sorted().joined(separator: ",") }

    /// The command that repeats this run.
    public var commandLine: String {
        var words = ["till simulate --seed \(seed) --purchases \(purchases)"]
        if hasThieves { words.append("--thieves") }
        if hasFamilies { words.append("--families") }
        let left = Set(FaultKind.allCases).subtracting(without)
        var missing = withoutThefts.map(\.rawValue)
        if left.count < without.count {
            words.append("--only \(left.isEmpty ? "none" : Self.list(left.map(\.rawValue)))")
        } else {
            missing += without.map(\.rawValue)
        }
        if !missing.isEmpty { words.append("--without \(Self.list(missing))") }
        if faultLimit != .max { words.append("--faults \(faultLimit)") }
        if let phones { words.append("--phones \(phones.sorted().map(String.init).joined(separator: ","))") }
        if let planted { words.append("--plant \(planted)") }
        return words.joined(separator: " ") + " --story"
    }
}

extension Violation {
    var json: JSONValue {
        [
            "kind": .string(kind.rawValue), "at": .int(at.milliseconds), "text": .string(text),
            "about": .array(about.map { .string($0) }),
        ]
    }

    init?(json: JSONValue, seed: UInt64) {
        guard case .object(let members) = json, case .string(let name)? = members["kind"],
            let kind = Kind(rawValue: name), case .int(let at)? = members["at"],
            case .string(let text)? = members["text"]
        else { return nil }
        self.kind = kind
        self.seed = seed
        self.at = Instant(milliseconds: at)
        self.text = text
        about = members["about"]?.texts ?? []
    }
}

extension JSONValue {
    fileprivate var texts: [String] {
        guard case .array(let values) = self else { return [] }
        return values.compactMap { if case .string(let text) = $0 { text } else { nil } }
    }

    fileprivate func number(_ name: String) -> Int {
        guard case .object(let members) = self, case .int(let number)? = members[name] else { return 0 }
        return Int(number)
    }
}

extension SeedReport {
    public var json: JSONValue {
        var members: [String: JSONValue] = [
            "seed": .string(String(seed)), "purchases": .int(Int64(purchases)), "paid": .int(Int64(paid)),
            "faults": .object(
                Dictionary(uniqueKeysWithValues: faults.map { ($0.key.rawValue, JSONValue.int(Int64($0.value))) })),
            "thefts": .object(
                Dictionary(uniqueKeysWithValues: thefts.map { ($0.key.rawValue, JSONValue.int(Int64($0.value))) })),
            "violations": .array(violations.map(\.json)), "steps": .int(Int64(steps)),
            "virtualTime": .int(virtualTime), "looks": .int(Int64(looks)),
            "rightsChecks": .int(Int64(rightsChecks)), "digest": .string(String(digest)),
            "story": .array(
                lines.map { line in
                    [
                        "at": .int(line.at.milliseconds), "who": .string(line.who), "text": .string(line.text),
                        "about": .array(line.about.sorted().map { .string($0) }),
                    ]
                }),
        ]
        if let fault { members["fault"] = .string(fault) }
        return .object(members)
    }

    /// Nil for invalid JSON.
    public init?(json: JSONValue) {
        guard case .object(let members) = json, case .string(let text)? = members["seed"], let seed = UInt64(text),
            case .string(let digest)? = members["digest"]
        else { return nil }
        self.seed = seed
        self.digest = UInt64(digest) ?? 0
        purchases = json.number("purchases")
        paid = json.number("paid")
        steps = json.number("steps")
        looks = json.number("looks")
        rightsChecks = json.number("rightsChecks")
        virtualTime = Int64(json.number("virtualTime"))
        var faults: [FaultKind: Int] = [:]
        if let counts = members["faults"] {
            for kind in FaultKind.allCases { faults[kind] = counts.number(kind.rawValue) }
        }
        self.faults = faults.filter { $0.value > 0 }
        var thefts: [TheftKind: Int] = [:]
        if let counts = members["thefts"] {
            for kind in TheftKind.allCases { thefts[kind] = counts.number(kind.rawValue) }
        }
        self.thefts = thefts.filter { $0.value > 0 }
        if case .array(let found)? = members["violations"] {
            violations = found.compactMap { Violation(json: $0, seed: seed) }
        } else {
            violations = []
        }
        if case .string(let text)? = members["fault"] { fault = text } else { fault = nil }
        if case .array(let told)? = members["story"] {
            lines = told.compactMap { line in
                guard case .object(let members) = line, case .string(let who)? = members["who"],
                    case .string(let text)? = members["text"]
                else { return nil }
                return EventLog.Line(
                    at: Instant(milliseconds: Int64(line.number("at"))), who: who, text: text,
                    about: Set(members["about"]?.texts ?? []))
            }
        } else {
            lines = []
        }
    }
}
