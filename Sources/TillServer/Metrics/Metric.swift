/// One figure that is watched, with its values: a family in Prometheus' text format 0.0.4.
struct Metric: Sendable {
    enum Kind: String, Sendable {
        /// Goes up and down.
        case gauge
        /// Only grows, as long as the ledger lives; its name ends in `_total`.
        case counter
    }

    struct Sample: Sendable {
        let labels: [(name: String, value: String)]
        let value: Double

        init(_ value: Double, _ labels: (name: String, value: String)...) {
            self.value = value
            self.labels = labels
        }

        init(count value: Int64, _ labels: (name: String, value: String)...) {
            self.value = Double(value)
            self.labels = labels
        }
    }

    /// `till_…`, in base units: seconds, a share of one.
    let name: String
    let kind: Kind
    /// One line in English.
    let help: String
    /// None if there is nothing to say just now.
    let samples: [Sample]

    /// As it is scraped.
    var text: String {
        var lines = ["# HELP \(name) \(Self.escaped(help))", "# TYPE \(name) \(kind.rawValue)"]
        for sample in samples {
            let labels = sample.labels.map { "\($0.name)=\"\(Self.escaped($0.value, quotes: true))\"" }
            let list = labels.isEmpty ? "" : "{\(labels.joined(separator: ","))}"
            lines.append("\(name)\(list) \(Self.number(sample.value))")
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func number(_ value: Double) -> String {
        if value == value.rounded(), abs(value) < 9e15 { return String(Int64(value)) }
        return value.isNaN ? "NaN" : "\(value)"
    }

    private static func escaped(_ text: String, quotes: Bool = false) -> String {
        var result = ""
        for character in text {
            switch character {
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\"" where quotes: result += "\\\""
            default: result.append(character)
            }
        }
        return result
    }
}
