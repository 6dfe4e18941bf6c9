/// Errors planted into copies of what the audit compares, one of each kind: an audit that misses one is useless.
struct PlantedFindings {
    let record: FailoverRecord.Contents
    let webhooks: WebhookLog.Contents
    let ledger: FailoverAudit.Ledger

    /// The kinds that the audit did not find.
    var missed: [String] {
        var missed: [String] = []
        func plant(
            _ kind: String,
            _ change: (inout FailoverRecord.Contents, inout WebhookLog.Contents, inout FailoverAudit.Ledger) -> Void
        ) {
            var (record, webhooks, ledger) = (record, webhooks, ledger)
            let before = FailoverAudit(record: record, webhooks: webhooks, ledger: ledger).findings()[kind]?.count ?? 0
            change(&record, &webhooks, &ledger)
            let after = FailoverAudit(record: record, webhooks: webhooks, ledger: ledger).findings()[kind]?.count ?? 0
            if after <= before { missed.append(kind) }
        }
        plant("lost") { record, _, _ in record.granted.insert(999_999) }
        plant("twice") { _, _, ledger in
            guard let first = ledger.grants.first else { return }
            ledger.grants[first.key] = (2, first.value.points * 2)
        }
        plant("event missing") { _, webhooks, _ in
            if let first = webhooks.firsts.first { webhooks.byID[first.id] = nil }
        }
        plant("order") { _, webhooks, _ in if !webhooks.firsts.isEmpty { webhooks.firsts.removeFirst() } }
        plant("feed") { record, _, _ in if !record.feed.isEmpty { record.feed.removeFirst() } }
        plant("two writers") { record, _, ledger in
            guard let last = record.probes.max(by: { $0.ended < $1.ended }) else { return }
            record.probes.append(
                FailoverRecord.Probe(
                    number: last.number, node: "another", timeline: last.timeline, began: last.ended, ended: .now))
        }
        return missed
    }
}
