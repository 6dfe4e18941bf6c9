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
                .keyExpiry,
                keys.map { key in
                    let left = key.validity.expires.map { Double($0.milliseconds - now.milliseconds) / 1_000 }
                    return labelled(left ?? .infinity, key)
                }),
            Metric(
                .keyLastUse,
                keys.map { key in
                    labelled(uses[key.name].map { Double($0.milliseconds) / 1_000 } ?? .nan, key)
                }),
        ]
    }
}
