import Testing
import TillBilling

/// Service as tables: what was bought, and what is had one day. `BM` for the account is bought by `BM@3`, on the third
/// day; a plan that is for one device by `BM*a@3`; two of it by `2BM@3`; for nothing by `0:BM@3`; `~` before it: it was
/// refunded. What is had reads `plan since–until devices`, in days and seconds.
@Suite("Service of an account and of its devices, as tables") struct DeviceServiceTests {
    static let table = """
        upgrade             | BM@0, PM@15                                  | 16 | PM 15–51+35970s
        downgrade           | PM@0, BM@10                                  | 11 | BM 10–86+65306s
        same plan           | BM@0, BM@15                                  | 16 | BM 0–60
        two of one          | 2BM@0                                        | 1  | BM 0–60
        after expiry        | BM@0, PM@30                                  | 31 | PM 30–60
        a gap               | BM@0, BM@31                                  | 32 | BM 31–61
        trial, then paid    | T@0, PM@2                                    | 3  | PM 2–32; T 0–7
        trial beside paid   | BM@0, T@3, T@5                               | 6  | BM 0–30; T 3–17
        for nothing         | 0:BM@0, PM@15                                | 16 | PM 15–45
        refund in front     | ~BM@0, PM@15                                 | 16 | PM 15–45
        refund in between   | BM@0, ~PM@15, PM@20                          | 21 | PM 20–54+23980s
        refund at the end   | BM@0, ~PM@15                                 | 16 | BM 0–30
        to and fro          | BM@0, PM@0, BM@0                             | 1  | BM 0–130+11561s
        two devices         | BM*a@0, BM*b@10                              | 11 | BM 0–30 a; BM 10–40 b
        the same device     | BM*a@0, BM*b@10, BM*a@20                     | 21 | BM 0–60 a; BM 10–40 b
        a device's gap      | BM*a@0, BM*b@10, BM*a@35                     | 36 | BM 10–40 b; BM 35–65 a
        both change         | BM*a@0, BM*b@0, PM*c@15                      | 16 | PM 15–57+71939s a b c
        worth more than new | BM*a@0, BM*b@0, BM*c@0, BM*d@0, PM*a@0       | 1  | PM 0–81+28553s a b c d
        only what runs      | BM*a@0, BM*b@20, PM*b@30                     | 31 | PM 30–68+47959s b
        beside, after that  | BM*a@0, BM*b@0, PM*c@15, PM*d@20             | 21 | PM 15–57+71939s a b c; PM 20–50 d
        extends for all     | BM*a@0, BM*b@0, PM*c@15, PM*a@20             | 21 | PM 15–87+71939s a b c
        change twice        | BM*a@0, PM*b@0, BM*c@0                       | 1  | BM 0–130+11561s a b c
        change, and apart   | BM*a@0, BM*b@0, PM*a@0, PM*c@0, BM*a@0       | 1  | BM 0–230+23119s a b c
        refund of one       | BM*a@0, ~BM*b@0, PM*c@15                     | 16 | PM 15–51+35970s a c
        no device named     | BM*@0, BM*a@10                               | 11 | BM 0–60
        account beside      | BM*a@0, BM*@10                               | 11 | BM 0–30 a; BM 10–40
        own before account  | BM*a@0, BM*@10, BM*a@20, BM*b@20             | 21 | BM 0–60 a; BM 10–70
        account over first  | BM*@0, BM*a@31, BM*@32                       | 33 | BM 31–61 a; BM 32–62
        both into one       | BM*a@0, BM*@0, PM*b@15                       | 16 | PM 15–57+71939s
        to an account plan  | BM*a@0, BM*b@0, PM@15                        | 16 | PM 15–57+71939s
        from an account one | BM@0, PM*a@15                                | 16 | PM 15–51+35970s
        trials by device    | T*a@0, T*b@3, T*a@5                          | 6  | T 0–14 a; T 3–10 b
        """

    @Test(
        "Each row: parallel on devices, extended on the same one, converted together, refunds as if never (C5, C11)",
        arguments: table.split(separator: "\n").map(String.init))
    func row(_ row: String) throws {
        let cells = row.split(separator: "|").map { $0.trimmed }
        try #require(cells.count == 4)
        let purchases = try Self.purchases(cells[1])
        let day = try #require(Int64(cells[2]))
        let wanted = cells[3].split(separator: ";").map(\.trimmed)
        #expect(Self.held(Service(purchases), day: day) == wanted)
        #expect(Self.held(Service(purchases.reversed()), day: day) == wanted)
    }

    /// Those that stand.
    static func purchases(_ cell: String) throws -> [PlanPurchase] {
        try cell.split(separator: ",").map(\.trimmed).enumerated().compactMap { number, text in
            guard !text.hasPrefix("~") else { return nil }
            let isFree = text.hasPrefix("0:")
            let parts = (isFree ? text.dropFirst(2) : text[...]).split(separator: "@")
            try #require(parts.count == 2)
            let quantity = Int(parts[0].prefix { $0.isNumber })
            let name = parts[0].drop { $0.isNumber }.prefix { $0 != "*" }
            let device = parts[0].split(separator: "*", maxSplits: 1).dropFirst().first
            let scope: PlanScope = parts[0].contains("*") ? .device : .account
            return PlanPurchase(
                plan: try #require(CloudPlans.plan(name, scope: scope)), quantity: quantity ?? 1,
                paid: isFree ? Money(amount: 0, currency: CloudPlans.dollar) : nil,
                at: CloudPlans.start.adding(seconds: try #require(Int64(parts[1])) * 86_400),
                deviceID: device.map { DeviceID(String($0)) }, transactionID: TransactionID("\(100 + number)"))
        }
    }

    static func held(_ service: Service, day: Int64) -> [String] {
        func text(_ instant: Instant) -> String {
            let (days, rest) = (instant.seconds - CloudPlans.start.seconds).quotientAndRemainder(dividingBy: 86_400)
            return rest == 0 ? "\(days)" : "\(days)+\(rest)s"
        }
        let short = Dictionary(
            uniqueKeysWithValues: (CloudPlans.names + ["T"]).compactMap { name in
                CloudPlans.plan(name).map { ($0.id, name) }
            })
        return service.holdings(at: CloudPlans.start.adding(seconds: day * 86_400)).map { holding in
            ([short[holding.plan.id] ?? "?", "\(text(holding.since))–\(text(holding.expiresAt))"]
                + (holding.deviceIDs ?? []).map(\.text)).joined(separator: " ")
        }
    }

    @Test("A preview for a device says what goes on beside, what is converted, and for which devices it is then (C6)")
    func preview() throws {
        let service = Service(try Self.purchases("BM*a@0, BM*b@10, T*a@12"))
        let now = CloudPlans.start.adding(seconds: 15 * 86_400)
        func said(_ name: String, _ device: String?) throws -> Proration {
            service.proration(
                to: try #require(CloudPlans.plan(name, scope: .device)), device: device.map(DeviceID.init), at: now)
        }
        let table: [(name: String, device: String?, fates: [Proration.Remainder.Fate], change: String, left: Int64)] = [
            ("BM", "a", [.kept, .untouched, .untouched], "extend", 15),
            ("BM", "c", [.untouched, .untouched, .untouched], "start", 0),
            ("BM", nil, [.untouched, .untouched, .untouched], "start", 0),
            ("PM", "c", [.converted, .converted, .untouched], "upgrade", 17),
            ("T", "a", [.kept, .untouched, .untouched], "extend", 4),
            ("T", "b", [.untouched, .untouched, .untouched], "start", 0),
        ]
        for (name, device, fates, change, left) in table {
            let said = try said(name, device)
            #expect(said.current.map(\.fate) == fates && said.change.rawValue == change, "\(name) \(device ?? "-")")
            #expect(said.carriedSeconds / 86_400 == left)
        }
        let converted = try said("PM", "c")
        #expect(converted.coverage == .devices([DeviceID("a"), DeviceID("b"), DeviceID("c")]))
        #expect(converted.explanation.map(\.en).contains("For a, b, c"))
        #expect(converted.explanation.map(\.zh).contains("适用设备：a、b、c"))
        let many = (0..<7).map { "BM*\($0)@0" }.joined(separator: ", ")
        let all = Service(try Self.purchases(many)).proration(
            to: try #require(CloudPlans.plan("PM", scope: .device)), device: DeviceID("0"), at: CloudPlans.start)
        #expect(all.explanation.map(\.en).contains("For 0, 1, 2, 3, 4 and 2 more"))
        #expect(all.explanation.map(\.zh).contains("适用设备：0、1、2、3、4 等 7 台"))
    }

    @Test(
        "The end of a purchase is that of the service its time went into, and of what was taken back there is none (C8)"
    )
    func ends() throws {
        let table: [(purchases: String, ends: [Int64?])] = [
            ("BM@0", [30]), ("BM@0, BM@10", [60, 60]), ("BM*a@0, BM*b@10", [30, 40]), ("BM@0, BM@40", [30, 70]),
            ("BM@0, PM@40", [30, 70]), ("BM*a@0, BM*b@0, PM*c@0", [55, 55, 55]), ("T@0, BM@3", [7, 33]),
        ]
        for (text, ends) in table {
            let purchases = try Self.purchases(text)
            let found = purchases.map { purchase -> Int64? in
                Service.end(of: purchase.transactionID ?? TransactionID("?"), in: purchases)
                    .map { ($0.seconds - CloudPlans.start.seconds) / 86_400 }
            }
            #expect(found == ends, "\(text)")
            #expect(Service.end(of: TransactionID("none"), in: purchases) == nil)
        }
    }

    @Test("Thousands of devices, and going to and fro between their plans, are folded in a moment")
    func many() throws {
        let plans = try ["BM", "PM"].map { try #require(CloudPlans.plan($0, scope: .device)) }
        let purchases: [PlanPurchase] = (0..<4_000).map { number in
            PlanPurchase(
                plan: plans[number < 3_000 ? 0 : number % 2], paid: nil,
                at: CloudPlans.start.adding(seconds: Int64(number)), deviceID: DeviceID("\(number % 3_000)"))
        }
        var service = Service()
        let took = ContinuousClock().measure { service = Service(purchases) }
        #expect(took < .seconds(10))
        let held = service.holdings(at: CloudPlans.start.adding(seconds: 4_000))
        #expect(held.count == 1 && held.first?.deviceIDs?.count == 3_000)
    }
}
