import Foundation
import Testing
import TillBilling

/// Service as tables: the purchases, and the service on one day. `BM@3` buys `BM` for the account on the third day,
/// `BM*a@3` for device `a`, `2BM@3` two units, `0:BM@3` for nothing; `~` marks a refunded purchase. Service reads `plan
/// since–until devices`, in days and seconds.
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
        another stays       | BM*a@0, BM*b@0, PM*c@15                      | 16 | BM 0–30 a; BM 0–30 b; PM 15–45 c
        one of two changes  | BM*a@0, BM*b@0, PM*a@15                      | 16 | BM 0–30 b; PM 15–51+35970s a
        both change         | BM*a@0, BM*b@0, PM*a@15, PM*b@15             | 16 | PM 15–51+35970s a; PM 15–51+35970s b
        only what it has    | BM*a@0, BM*b@20, PM*b@50                     | 51 | PM 50–80 b
        to and fro on one   | BM*a@0, PM*a@0, BM*a@0                       | 1  | BM 0–130+11561s a
        refund of one       | BM*a@0, ~BM*b@0, PM*b@15                     | 16 | BM 0–30 a; PM 15–45 b
        no device named     | BM*@0, BM*a@10                               | 11 | BM 0–30; BM 10–40 a
        nobody's changes    | BM*@0, PM*@15, BM*a@15                       | 16 | PM 15–51+35970s; BM 15–45 a
        account beside      | PM@0, BM*a@10                                | 11 | PM 0–30; BM 10–40 a
        to an account plan  | BM*a@0, BM*b@0, PM@15                        | 16 | PM 15–57+71939s
        again, with others  | PM@0, BM*a@10, PM@25                         | 26 | PM 0–66+35970s
        from an account one | BM@0, PM*a@15                                | 16 | BM 0–30; PM 15–45 a
        trials by device    | T*a@0, T*b@3, T*a@5                          | 6  | T 0–14 a; T 3–10 b
        """

    @Test(
        "Each row: parallel on devices, extended on the same one, converted together, refunds ignored (C5, C11)",
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

    /// The purchases that are not refunded.
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
        return service.activePlans(at: CloudPlans.start.adding(seconds: day * 86_400)).map { activePlan in
            ([short[activePlan.plan.id] ?? "?", "\(text(activePlan.since))–\(text(activePlan.expiresAt))"]
                + (activePlan.deviceIDs ?? []).map(\.text)).joined(separator: " ")
        }
    }

    @Test("A preview for a device states what continues beside it, what is converted, and the devices it covers (C6)")
    func preview() throws {
        let service = Service(try Self.purchases("BM*a@0, BM*b@10, T*a@12"))
        let now = CloudPlans.start.adding(seconds: 15 * 86_400)
        func said(_ name: String, _ device: String?) throws -> Proration {
            service.proration(
                to: try #require(CloudPlans.plan(name, scope: .device)), device: device.map(DeviceID.init), at: now)
        }
        let table:
            [(name: String, device: String?, fates: [Proration.Remainder.Treatment], change: String, left: Int64)] = [
                ("BM", "a", [.kept, .untouched, .untouched], "extend", 15),
                ("BM", "c", [.untouched, .untouched, .untouched], "start", 0),
                ("BM", nil, [.untouched, .untouched, .untouched], "start", 0),
                ("PM", "a", [.converted, .untouched, .untouched], "upgrade", 6),
                ("PM", "c", [.untouched, .untouched, .untouched], "start", 0),
                ("T", "a", [.kept, .untouched, .untouched], "extend", 4),
                ("T", "b", [.untouched, .untouched, .untouched], "start", 0),
            ]
        for (name, device, fates, change, left) in table {
            let stated = try said(name, device)
            #expect(
                stated.current.map(\.treatment) == fates && stated.change.rawValue == change, "\(name) \(device ?? "-")"
            )
            #expect(stated.carriedSeconds / 86_400 == left)
        }
        let converted = try said("PM", "a")
        #expect(converted.coverage == .device(DeviceID("a")))
        #expect(converted.explanation.map(\.en).contains("For a"))
        #expect(converted.explanation.map(\.zh).contains("适用设备：a"))
    }

    @Test("One premium plan lifts one of fifty devices, and the others keep their plans")
    func fifty() throws {
        let basics = (0..<50).map { "BM*\($0)@0" }.joined(separator: ", ")
        let service = Service(try Self.purchases(basics + ", PM*7@0"))
        let held = service.activePlans(at: CloudPlans.start.adding(seconds: 86_400))
        #expect(held.count == 50)
        #expect(held.filter { $0.plan.rank == "premium" }.map(\.deviceIDs) == [[DeviceID("7")]])
        // Only that device's own remainder is converted.
        #expect(held.filter { $0.plan.rank == "premium" }.map { $0.expiresAt.seconds } == [1_767_225_600 + 3_700_739])
    }

    @Test(
        "A purchase ends with the service that its time went into; a refunded purchase has no end (C8)"
    )
    func ends() throws {
        let table: [(purchases: String, ends: [Int64?])] = [
            ("BM@0", [30]), ("BM@0, BM@10", [60, 60]), ("BM*a@0, BM*b@10", [30, 40]), ("BM@0, BM@40", [30, 70]),
            ("BM@0, PM@40", [30, 70]), ("BM*a@0, BM*b@0, PM*a@0", [42, 30, 42]), ("T@0, BM@3", [7, 33]),
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

    @Test("Thousands of devices that change plans back and forth are computed quickly")
    func many() throws {
        let plans = try ["BM", "PM"].map { try #require(CloudPlans.plan($0, scope: .device)) }
        let purchases: [PlanPurchase] = (0..<4_000).map { number in
            PlanPurchase(
                plan: plans[number < 3_000 ? 0 : number % 2], paid: nil,
                at: CloudPlans.start.adding(seconds: Int64(number)), deviceID: DeviceID("\(number % 3_000)"))
        }
        let began = Date()
        let service = Service(purchases)
        #expect(Date().timeIntervalSince(began) < 10)
        let held = service.activePlans(at: CloudPlans.start.adding(seconds: 4_000))
        #expect(held.count == 3_000 && held.filter { $0.plan.rank == "premium" }.count == 500)
    }
}
