import Testing
import TillBilling
import TillSQL
import TillTestDatabases
import TillThreads

@testable import TillLedger

@Suite("Pending work") struct PendingWorkTests {
    private static let now = Instant(seconds: 1_790_000_000)

    private func list(_ prepare: @escaping @Sendable (any Connection) throws -> Void) async throws -> [PendingWork] {
        let found = Locked<[PendingWork]>([])
        try await withLedger { ledger in
            try await ledger.write { try prepare($0) }
            let list = try await ledger.read { try PendingWork.list(endpoints: ["backend"], at: Self.now, $0) }
            found.withLock { $0 = list }
        }
        return found.withLock { $0 }
    }

    private static func minutesAgo(_ minutes: Int64) -> Instant { now.adding(seconds: -60 * minutes) }

    @Test("An empty ledger has every queue without an age; an endpoint that no server has seen has none")
    func empty() async throws {
        let found = try await list { _ in }
        #expect(found.map(\.queue) == PendingWork.Queue.allCases.filter { $0 != .webhooks })
        #expect(found.allSatisfy { $0.count == 0 && $0.age(at: Self.now) == 0 && $0.failing == 0 })
    }

    @Test("Each queue counts what waits, from its oldest entry; what is planned for later does not wait")
    func queues() async throws {
        let found = try await list { connection in
            _ = try NotificationTable(connection).insert(
                uuid: "n", environment: .sandbox, type: "TEST", subtype: nil, signedAt: nil, at: Self.minutesAgo(7),
                payload: [])
            try WaitingProofTable(connection).insert(
                TransactionID("7"), in: .sandbox, by: .init(name: "user:ann", namedUser: nil, claimedOrder: nil),
                receipt: [1], digest: Array(repeating: 2, count: 32), at: Self.minutesAgo(20), due: Self.now,
                detail: "")
            let claims = ClaimTable(connection)
            _ = try claims.insert(
                UniqueID(high: 1, low: 1), of: UserID("ann"), orderNumber: "M", by: "user:ann",
                at: Self.minutesAgo(45), due: Self.now)
            _ = try WebhookEndpointTable(connection).insert(
                "backend", url: "https://example.com", position: 0, at: Self.minutesAgo(60))
            let outbox = OutboxTable(connection)
            try outbox.insert(
                type: "grant.created", user: UserID("ann"), key: "a", happensOnce: true, transaction: nil,
                transfer: nil, body: "{}", at: Self.minutesAgo(30))
            _ = try outbox.place(limit: 10)
            try outbox.insert(
                type: "grant.created", user: UserID("ann"), key: "b", happensOnce: true, transaction: nil,
                transfer: nil, body: "{}", at: Self.minutesAgo(2))
            try WebhookTableTests.takeBack(2, connection)
        }
        func minutes(_ queue: PendingWork.Queue) -> [Int64] {
            found.filter { $0.queue == queue && $0.count == 1 }.map { $0.age(at: Self.now) / 60 }
        }
        #expect(minutes(.notifications) == [7])
        #expect(minutes(.waitingReceipts) == [20])
        #expect(minutes(.claims) == [45])
        #expect(minutes(.events) == [2])
        #expect(minutes(.webhooks) == [30])
    }

    @Test("A task for Apple waits from the moment it is due; repeated failures and given up tasks are counted")
    func tasks() async throws {
        let found = try await list { connection in
            let transactions = TransactionTable(connection)
            for number in 1...3 {
                let payment = PaidTransaction(
                    id: TransactionID("\(number)"), originalID: TransactionID("\(number)"), productID: ProductID("p"),
                    quantity: 1, environment: .sandbox, token: nil, purchasedAt: Self.now, signedAt: Self.now,
                    revokedAt: nil, isRenewal: false, isFromReceipt: false, price: nil)
                let row = try transactions.insert(
                    payment, state: .granted, quarantine: nil, orderRowID: nil, at: Self.now)
                let due = number == 1 ? Self.minutesAgo(16) : Self.now.adding(seconds: 600)
                try AppleTaskTable(connection).insert(.finish, transaction: row, due: due)
            }
            try connection.execute("UPDATE apple_tasks SET attempts = 6 WHERE row_id = 2", [])
            try AppleTaskTable(connection).refuse(3, detail: "4040010")
        }
        let tasks = try #require(found.first { $0.queue == .appleTasks })
        #expect(tasks.count == 1 && tasks.age(at: Self.now) == 16 * 60)
        #expect(tasks.failing == 1 && tasks.givenUp == 1)
    }

    @Test("A queue warns long before it is an error, and no queue warns for what one pass of its job leaves")
    func limits() {
        for queue in PendingWork.Queue.allCases {
            #expect(queue.limits.warning >= 60 && queue.limits.error >= 4 * queue.limits.warning, "\(queue)")
            #expect(queue.name.en != queue.name.zh)
        }
    }
}
