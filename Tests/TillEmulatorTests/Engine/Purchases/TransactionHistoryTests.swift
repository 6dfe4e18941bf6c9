import Testing
import TillAppStore
import TillBilling
import TillCrypto
import TillHTTP
import TillJSON

@testable import TillEmulator

@Suite("Transaction and refund history")
struct TransactionHistoryTests {
    /// The expected answers, computed from the same transactions in memory.
    private struct Model {
        var transactions: [Int64: StoreTransaction] = [:]

        func matching(_ filter: HistoryFilter, withFinishedConsumables: Bool = true) -> [StoreTransaction] {
            let found = transactions.values.filter { transaction in
                let groups = filter.subscriptionGroups
                return filter.start.map { transaction.purchased >= $0 } ?? true
                    && filter.end.map { transaction.purchased < $0 } ?? true
                    && (filter.products.isEmpty || filter.products.contains(transaction.productID))
                    && (filter.kinds.isEmpty || filter.kinds.map(ProductType.init).contains(transaction.kind))
                    && (groups.isEmpty || groups.contains(transaction.subscription?.groupID ?? ""))
                    && filter.ownership.map { $0.rawValue == transaction.ownership } ?? true
                    && filter.isRevoked.map { $0 == (transaction.revocation != nil) } ?? true
                    && (withFinishedConsumables || !(transaction.isFinished && transaction.kind == .consumable))
            }
            return found.sorted { left, right in
                filter.order == .descending
                    ? left.modification > right.modification : left.modification < right.modification
            }
        }
    }

    private static let products = ["points60", "points300", "library", "course", "member.monthly"]

    /// A customer with many transactions of all kinds, some of them changed later.
    private func furnish(
        _ world: EmulatedWorld, count: Int, seed: UInt64, account: String = "many"
    ) async throws -> (id: String, Model) {
        let first = try await world.bought("points60", ["account": .string(account)])
        let catalogue = try await world.emulator.store.products()
        let model = try await world.emulator.store.change { change in
            var random = SeededNumbers(state: seed)
            var model = Model()
            let number = try #require(Int64(first))
            let base = try #require(try TransactionTable.find(number, change.connection))
            model.transactions[number] = base
            for _ in 1..<count {
                let product = try #require(catalogue.randomElement(using: &random))
                var copy = base
                copy.number = try Counter.transaction.take(change.connection)
                copy.original = copy.number
                copy.productID = product.id
                copy.kind = product.kind
                copy.isFinished = Bool.random(using: &random)
                copy.purchased = base.purchased.adding(seconds: Int64.random(in: -1_000...1_000, using: &random))
                if product.kind == .autoRenewable {
                    let group = ["21000001", "gold \"club\"", "x"].randomElement(using: &random) ?? ""
                    copy.subscription = StoreTransaction.Subscription(
                        groupID: group, expires: copy.purchased, lineItem: try Counter.lineItem.take(change.connection))
                }
                if Int.random(in: 0..<8, using: &random) == 0 { copy.sharedFrom = number }
                copy = try TransactionTable.insert(copy, change.connection)
                model.transactions[copy.number] = copy
            }
            for number in model.transactions.keys.sorted() where Int.random(in: 0..<5, using: &random) == 0 {
                var changed = try #require(model.transactions[number])
                let back = Int64.random(in: 0..<50, using: &random)
                changed.revocation = StoreTransaction.Revocation(
                    date: change.now.adding(seconds: -back), reason: 0,
                    type: changed.sharedFrom == nil ? "REFUND_FULL" : "FAMILY_REVOKE", percentage: 100_000)
                model.transactions[number] = try TransactionTable.update(changed, change.connection)
            }
            return model
        }
        return (first, model)
    }

    /// All pages of a query, by the transactions in them.
    private func walk(
        _ world: EmulatedWorld, _ route: ServerAPIRoute, _ id: String, _ query: [(name: String, value: String)] = [],
        from revision: String? = nil, between pages: (Int) async throws -> Void = { _ in }
    ) async throws -> (numbers: [Int64], pages: Int, revision: String) {
        var (numbers, count, revision) = ([Int64](), 0, revision)
        while true {
            let asked = query + (revision.map { [(name: "revision", value: $0)] } ?? [])
            let answer = try await world.call(route, id, query: asked)
            try #require(answer.status == 200, "\(answer.json.encoded())")
            let signed = answer.json["signedTransactions"]?.array ?? []
            for token in signed {
                let number = try payload(of: token.string)["transactionId"]?.string.flatMap { Int64($0) }
                numbers.append(try #require(number))
            }
            count += 1
            revision = try #require(answer.json["revision"]?.string)
            let hasMore = answer.json["hasMore"] == true
            #expect(hasMore ? signed.count == 20 : signed.count <= 20)
            if !hasMore { return (numbers, count, revision ?? "") }
            try await pages(count)
        }
    }

    private func randomFilter(_ random: inout SeededNumbers, around start: Instant) -> HistoryFilter {
        var filter = HistoryFilter()
        func some<Value>(_ values: [Value]) -> [Value] {
            Bool.random(using: &random) ? values.filter { _ in Int.random(in: 0..<3, using: &random) == 0 } : []
        }
        if Bool.random(using: &random) {
            filter.start = start.adding(seconds: Int64.random(in: -900...0, using: &random))
        }
        if Bool.random(using: &random) { filter.end = start.adding(seconds: Int64.random(in: 1...900, using: &random)) }
        filter.products = some(Self.products).map { ProductID("\(EmulatedWorld.bundleID).\($0)") }
        filter.kinds = some(HistoryFilter.Kind.allCases)
        filter.subscriptionGroups =
            Int.random(in: 0..<4, using: &random) == 0 ? ["21000001", "gold \"club\""].shuffled(using: &random) : []
        filter.ownership = [nil, nil, nil, .purchased, .familyShared].randomElement(using: &random) ?? nil
        filter.order = [nil, .ascending, .descending].randomElement(using: &random) ?? nil
        filter.isRevoked = [nil, nil, true, false].randomElement(using: &random) ?? nil
        return filter
    }

    private func query(_ filter: HistoryFilter) -> [(name: String, value: String)] {
        var query: [(name: String, value: String)] = []
        func add(_ name: String, _ value: String?) { if let value { query.append((name, value)) } }
        add("startDate", filter.start.map { String($0.milliseconds) })
        add("endDate", filter.end.map { String($0.milliseconds) })
        for product in filter.products { add("productId", product.text) }
        for kind in filter.kinds { add("productType", kind.rawValue) }
        for group in filter.subscriptionGroups { add("subscriptionGroupIdentifier", group) }
        add("inAppOwnershipType", filter.ownership?.rawValue)
        add("sort", filter.order?.rawValue)
        add("revoked", filter.isRevoked.map { $0 ? "true" : "false" })
        return query
    }

    @Test("Pages of any filter equal a plain filter in memory, in order, without gaps or repetitions")
    func model() async throws {
        let world = try await EmulatedWorld()
        let (id, model) = try await furnish(world, count: 2_000, seed: 1)
        _ = try await furnish(world, count: 30, seed: 2, account: "neighbour")
        let all = try await walk(world, .history, id)
        #expect(all.numbers == model.matching(HistoryFilter()).map(\.number))
        #expect(all.pages == 100)
        var random = SeededNumbers(state: 20_260_301)
        var shown = 0
        for round in 0..<60 {
            let filter = randomFilter(&random, around: EmulatedWorld.start)
            let isOld = round % 4 == 3
            let expected = model.matching(filter, withFinishedConsumables: !isOld).map(\.number)
            // Long ones are covered by the walk above.
            if expected.count > 250 { continue }
            let found = try await walk(world, isOld ? .historyV1 : .history, id, query(filter))
            #expect(found.numbers == expected, "round \(round): \(filter)")
            shown += expected.isEmpty ? 0 : 1
        }
        #expect(shown > 15)
        let refunds = model.transactions.values.filter { $0.revocation?.type == "REFUND_FULL" }.sorted {
            ($0.revocation?.date ?? $0.purchased, $0.modification)
                < ($1.revocation?.date ?? $1.purchased, $1.modification)
        }.map(\.number)
        #expect(refunds.count > 250)
        #expect(try await walk(world, .refundHistory, id).numbers == refunds)
        let old = try await world.call(.refundHistoryV1, id).json["signedTransactions"]?.array ?? []
        let newest = try old.map { try payload(of: $0.string)["transactionId"]?.string }
        #expect(newest == refunds.suffix(50).map(String.init))
        await world.remove()
    }

    @Test("A change in mid-walk appears again at the end; the last revision yields only new changes, restart included")
    func changesInMidWalk() async throws {
        let world = try await EmulatedWorld()
        let (id, model) = try await furnish(world, count: 150, seed: 3)
        let order = model.matching(HistoryFilter()).map(\.number)
        let (seen, unseen) = (order[3], order[130])
        let found = try await walk(world, .history, id) { page in
            guard page == 2 else { return }
            for number in [seen, unseen] {
                _ = try await world.emulator.store.change { change in
                    var transaction = try #require(try TransactionTable.find(number, change.connection))
                    transaction.isUpgraded = true
                    try TransactionTable.update(transaction, change.connection)
                }
            }
        }
        #expect(found.numbers.filter { $0 == seen }.count == 2)
        #expect(found.numbers.filter { $0 == unseen }.count == 1)
        #expect(found.numbers.suffix(2) == [seen, unseen])
        #expect(Set(found.numbers) == Set(order))
        // Nothing is new, however often it is requested.
        let still = try await walk(world, .history, id, from: found.revision)
        #expect(still.numbers.isEmpty && still.revision == found.revision)
        await world.close()
        let later = try await EmulatedWorld(directory: world.directory)
        let update = try await later.bought("points300", ["account": "many"])
        _ = await later.ask(.post, "/emulator/transactions/\(update)/finish")
        let fresh = try await walk(later, .history, id, from: found.revision)
        #expect(fresh.numbers.map(String.init) == [update])
        #expect(try await walk(later, .history, id, from: fresh.revision).numbers.isEmpty)
        await later.remove()
    }

    @Test("The last revision of a refund history yields only the later refunds")
    func laterRefunds() async throws {
        let world = try await EmulatedWorld()
        let ids = [try await world.bought(), try await world.bought(), try await world.bought("library")]
        let none = try await walk(world, .refundHistory, ids[0])
        #expect(none.numbers.isEmpty)
        world.advance(seconds: 5)
        _ = await world.ask(.post, "/emulator/transactions/\(ids[1])/refund")
        let one = try await walk(world, .refundHistory, ids[0], from: none.revision)
        #expect(one.numbers.map(String.init) == [ids[1]])
        // At the same moment, and of an older transaction.
        _ = await world.ask(.post, "/emulator/transactions/\(ids[0])/refund")
        let two = try await walk(world, .refundHistory, ids[2], from: one.revision)
        #expect(two.numbers.map(String.init) == [ids[0]])
        await world.remove()
    }

    @Test("A revision belongs to its customer, app, endpoint and parameters; invalid ones are refused and never trap")
    func hostileRevisions() async throws {
        let world = try await EmulatedWorld()
        let (id, _) = try await furnish(world, count: 45, seed: 4)
        let neighbour = try await world.bought("points60", ["account": "neighbour"])
        let revision = try #require(try await world.call(.history, id).json["revision"]?.string)
        func code(
            _ route: ServerAPIRoute, _ id: String, _ revision: String, _ more: [(name: String, value: String)] = []
        ) async throws -> JSONValue? {
            let answer = try await world.call(route, id, query: [(name: "revision", value: revision)] + more)
            return answer.status == 200 ? nil : answer.json["errorCode"]
        }
        #expect(try await code(.history, id, revision) == nil)
        #expect(try await code(.history, neighbour, revision) == 4_000_005)
        #expect(try await code(.historyV1, id, revision) == 4_000_005)
        #expect(try await code(.refundHistory, id, revision) == 4_000_005)
        for more in [
            ("sort", "DESCENDING"), ("revoked", "true"), ("productType", "CONSUMABLE"), ("startDate", "0"),
            ("endDate", "99"), ("productId", "x"), ("inAppOwnershipType", "PURCHASED"),
            ("subscriptionGroupIdentifier", "x"),
        ] {
            #expect(try await code(.history, id, revision, [(name: more.0, value: more.1)]) == 4_000_005)
        }
        // The same query with reordered parameters.
        let kinds = [("productType", "CONSUMABLE"), ("productType", "NON_CONSUMABLE")].map { (name: $0.0, value: $0.1) }
        let answer = try await world.call(.history, id, query: kinds)
        let bound = try #require(answer.json["revision"]?.string)
        #expect(try await code(.history, id, bound, kinds.reversed()) == nil)
        var random = SeededNumbers(state: 5)
        var rubbish = ["", " ", "=", revision + "A", String(revision.dropLast()), revision.uppercased(), "💸"]
        rubbish += [String(repeating: "A", count: 100_000), "9223372036854775807", "../../etc/passwd", "\u{0}"]
        for _ in 0..<200 {
            let count = Int.random(in: 0...40, using: &random)
            rubbish.append(Base64.encode((0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }, .url))
            var letters = Array(revision.utf8)
            letters[Int.random(in: 0..<letters.count, using: &random)] ^= UInt8.random(in: 1...127, using: &random)
            rubbish.append(String(decoding: letters, as: UTF8.self))
        }
        for text in rubbish where text != revision {
            let answered = try await code(.history, id, text)
            #expect(answered == 4_000_005, "\(text.prefix(60))")
        }
        await world.remove()
    }
}
