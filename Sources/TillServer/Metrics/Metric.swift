/// One metric with its samples: a metric family in Prometheus' text format 0.0.4.
struct Metric: Sendable {
    enum Kind: String, Sendable {
        /// Goes up and down.
        case gauge
        /// Only grows for the lifetime of the ledger; its name ends in `_total`.
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

    /// `till_…`, in base units: seconds, or a ratio from 0 to 1.
    let name: String
    let kind: Kind
    /// One line in English.
    let help: String
    /// Empty if there is nothing to report.
    let samples: [Sample]

    /// The text that Prometheus scrapes.
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
        guard value.isFinite else { return value.isNaN ? "NaN" : value < 0 ? "-Inf" : "+Inf" }
        return "\(value)"
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
