/// One metric with its samples: a metric family in Prometheus' text format 0.0.4.
struct Metric: Sendable {
    typealias Label = (name: String, value: String)

    struct Sample: Sendable {
        /// In the order of the definition's labels.
        let labels: [Label]
        /// NaN if the value is unknown.
        let value: Double
        /// `_bucket`, `_sum` or `_count` for a histogram.
        var suffix = ""

        init(_ value: Double, _ labels: Label...) {
            self.value = value
            self.labels = labels
        }

        init(_ value: Double, labels: [Label], suffix: String = "") {
            self.value = value
            self.labels = labels
            self.suffix = suffix
        }

        init(count value: Int64, _ labels: Label...) {
            self.value = Double(value)
            self.labels = labels
        }
    }

    let definition: MetricDefinition
    let samples: [Sample]

    init(_ definition: MetricDefinition, _ samples: [Sample]) {
        self.definition = definition
        self.samples = samples
    }

    /// A metric without labels; NaN if the value is unknown.
    init(_ definition: MetricDefinition, _ value: Double?) {
        self.init(definition, [Sample(value ?? .nan)])
    }

    /// - Parameters:
    ///   - series: a histogram for each set of labels.
    ///   - scale: how many of the histogram's units are one of the metric's.
    init(_ definition: MetricDefinition, _ series: [(labels: [Label], histogram: Histogram)], scale: Double) {
        self.init(
            definition,
            series.flatMap { labels, histogram -> [Sample] in
                var (samples, total) = ([Sample](), Int64(0))
                for (index, count) in histogram.counts.enumerated() {
                    total += count
                    let isLast = index == histogram.bounds.count
                    let bound = isLast ? "+Inf" : Self.number(Double(histogram.bounds[index]) / scale)
                    samples.append(
                        Sample(Double(total), labels: labels + [(name: "le", value: bound)], suffix: "_bucket"))
                }
                samples.append(Sample(Double(histogram.sum) / scale, labels: labels, suffix: "_sum"))
                samples.append(Sample(Double(total), labels: labels, suffix: "_count"))
                return samples
            })
    }

    /// The text that Prometheus scrapes.
    var text: String {
        let name = definition.name
        var lines = ["# HELP \(name) \(Self.escaped(definition.help))", "# TYPE \(name) \(definition.kind.rawValue)"]
        for sample in samples {
            let labels = sample.labels.map { "\($0.name)=\"\(Self.escaped($0.value, quotes: true))\"" }
            let list = labels.isEmpty ? "" : "{\(labels.joined(separator: ","))}"
            lines.append("\(name)\(sample.suffix)\(list) \(Self.number(sample.value))")
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
