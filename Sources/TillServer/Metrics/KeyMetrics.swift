import TillBilling

extension Server {
    /// The expiry and the last use of every configured key.
    func keyMetrics(at now: Instant) -> [Metric] {
        let keys = ConfiguredKey.all(configuration.secretKeys, configuration.userTokens, configuration.operators)
        let uses = keyUses.all
        func labelled(_ value: Double, _ key: ConfiguredKey) -> Metric.Sample {
            Metric.Sample(value, (name: "list", value: key.name.kind.rawValue), (name: "key", value: key.name.id))
        }
        return [
            Metric(
                name: "till_key_expiry_seconds", kind: .gauge,
                help: "Seconds until the key expires, below zero afterwards; +Inf for a key without an expiry.",
                samples: keys.map { key in
                    let left = key.validity.expires.map { Double($0.milliseconds - now.milliseconds) / 1_000 }
                    return labelled(left ?? .infinity, key)
                }),
            Metric(
                name: "till_key_last_use_timestamp_seconds", kind: .gauge,
                help: "When the key was last accepted, as a Unix time; NaN if no use is known.",
                samples: keys.map { key in
                    labelled(uses[key.name].map { Double($0.milliseconds) / 1_000 } ?? .nan, key)
                }),
        ]
    }
}
