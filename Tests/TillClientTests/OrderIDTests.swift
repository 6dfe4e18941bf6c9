import Foundation
import Testing
import TillAPI
import TillBilling

@testable import TillClient

@Suite("Order ids as commitments")
struct OrderIDTests {
    private let guest = UserID("guest-0b8a1c1e-6c0f-4a6b-9d5d-0f6a4f1b2c3d")

    private func session(_ user: UserID) -> UserSession { UserSession(userID: user, token: user.text) }

    @Test("Every order's id commits to the signed-in user, with a new nonce that is on the disk before any request")
    func committed() async throws {
        let world = PretendWorld()
        let app = try PretendApp(world)
        var nonces: Set<OrderIDNonce> = []
        for _ in 0..<3 {
            let entry = try await app.purchase.prepare(OrderRequest(PretendApp.points))
            let nonce = try #require(entry.idNonce)
            #expect(entry.id == OrderIDCommitment(user: UserID("ann"), nonce: nonce).id)
            nonces.insert(nonce)
            let stored = try #require(await OrderJournal(disk: world.file.disk)[entry.id])
            #expect(stored.idNonce == nonce && stored.idUserID == UserID("ann"))
            #expect(world.state.now.opened.last?.idNonce == nonce && world.state.now.opened.last?.idUserId == nil)
        }
        #expect(nonces.count == 3)

        let cut = PretendWorld()
        cut.state.withLock { $0.killAt = 2 }
        _ = try? await PretendApp(cut).purchase.prepare(OrderRequest(PretendApp.points))
        #expect(cut.state.now.requests.isEmpty)
        #expect(try await OrderJournal(disk: cut.file.disk).entries().first?.idNonce != nil)
    }

    @Test("A nonce is kept through a whole purchase, every change of its order and a rewrite of the file")
    func kept() async throws {
        let world = PretendWorld()
        let app = try PretendApp(world)
        let entry = try await app.purchase.prepare(OrderRequest(PretendApp.points))
        try await app.journal.postpone(entry.id, because: .accepted, until: nil)
        // After a failed partial write, the next change rewrites the file.
        world.file.state.withLock { $0.tearNextWriteAfter = 3 }
        _ = await app.submitter.submit(world.pay(entry))
        _ = await app.submitter.submit(world.pay(entry, id: "2000000000000002"))
        #expect(world.file.state.now.rewrites == 1)
        let stored = try #require(await OrderJournal(disk: world.file.disk)[entry.id])
        #expect(stored.idNonce == entry.idNonce && stored.idUserID == UserID("ann"))
    }

    @Test("A proof carries its order's nonce: a server that lost the order creates it again, and grants")
    func lostOrder() async throws {
        let world = PretendWorld()
        let app = try PretendApp(world)
        let entry = try await app.purchase.prepare(OrderRequest(PretendApp.points))
        // The server was restored from an hour ago.
        world.state.withLock { $0.orders = [:] }
        guard case .completed = await app.submitter.submit(world.pay(entry)) else { throw Unexpected("lost") }
        let body = try #require(world.state.now.bodies.first)
        #expect(body.idNonce == entry.idNonce && body.orderId == entry.id && body.idUserId == nil)
        #expect(world.state.now.grants.values.map(\.text) == ["ann"])
        #expect(await app.journal[entry.id]?.status == .completed)
    }

    @Test("A lost order is also recovered after a kill at every step, as long as the phone has its journal")
    func lostOrderKilled() async throws {
        for step in 5...9 {
            let world = PretendWorld()
            let entry = try await PretendApp(world).purchase.prepare(OrderRequest(PretendApp.points))
            world.state.withLock { ($0.orders, $0.killAt) = ([:], step) }
            _ = await (try PretendApp(world)).submitter.submit(world.pay(entry))
            world.state.withLock { $0.killAt = .max }
            let app = try PretendApp(world)
            _ = await app.retry.resubmit(on: .launch)
            #expect(world.state.now.grants.values.map(\.text) == ["ann"], "killed at \(step)")
            #expect(await app.journal[entry.id]?.status == .completed, "killed at \(step)")
            #expect(world.state.now.queue.isEmpty && world.state.now.finishedBeforeWord.isEmpty)
        }
    }

    @Test("With another user's token a proof carries no nonce, and waits for its owner if the order was lost")
    func otherCaller() async throws {
        let world = PretendWorld()
        let app = try PretendApp(world)
        let entry = try await app.purchase.prepare(OrderRequest(PretendApp.points))
        world.state.withLock { ($0.orders, $0.session) = ([:], session(UserID("ben"))) }
        guard case .deliveryPending = await app.submitter.submit(world.pay(entry)) else { throw Unexpected("an end") }
        #expect(world.state.now.bodies.first?.idNonce == nil && world.state.now.bodies.first?.idUserId == nil)
        #expect(world.state.now.grants.isEmpty)
        world.state.withLock { $0.session = session(UserID("ann")) }
        _ = await app.retry.resubmit(on: .launch)
        #expect(world.state.now.grants.values.map(\.text) == ["ann"])
    }

    // MARK: Guests

    @Test("A guest who signs in between two attempts to create an order continues as the account")
    func mergedMeanwhile() async throws {
        let world = PretendWorld()
        let app = try PretendApp(world)
        world.state.withLock {
            $0.session = session(guest)
            $0.answers = [.failure(TransportError(.timedOut))]
            $0.onRequest = {
                guard world.state.now.guests.isEmpty else { return }
                world.state.withLock { ($0.guests, $0.session) = ([guest: UserID("ann")], session(UserID("ann"))) }
                try? await app.journal.transfer(over: guest, to: UserID("ann"))
            }
        }
        let entry = try await app.purchase.prepare(OrderRequest(PretendApp.points))
        #expect(entry.isOpened && entry.userID == UserID("ann") && entry.idUserID == guest)
        // The next launch reads all of this from the disk.
        #expect(try await OrderJournal(disk: world.file.disk)[entry.id] == entry)
        #expect(world.state.now.opened.map(\.idUserId) == [guest.text])
        #expect(world.state.now.orders[entry.id]?.user == UserID("ann"))
    }

    @Test("A guest's payment is proved by the account after the merge, even if the server lost the order")
    func mergedAfter() async throws {
        let world = PretendWorld()
        let app = try PretendApp(world)
        world.state.withLock { $0.session = session(guest) }
        let entry = try await app.purchase.prepare(OrderRequest(PretendApp.points))
        world.state.withLock {
            ($0.guests, $0.session, $0.orders) = ([guest: UserID("ann")], session(UserID("ann")), [:])
        }
        // The merge was made elsewhere: this device's journal does not have it.
        guard case .completed = await app.submitter.submit(world.pay(entry)) else { throw Unexpected("lost") }
        #expect(world.state.now.bodies.first?.idUserId == guest.text)
        #expect(world.state.now.grants.values.map(\.text) == ["ann"])
    }

    // MARK: Journals of older versions

    /// Three of ann's orders as the kit's first version wrote them: one prepared and not sent, one paid with its proof,
    /// one completed.
    private static let old = [UInt8](
        Data(
            base64Encoded:
                "VGlsbEpybmwBAAAA9/lc7PVUSvY2AAAAqBb21QFaWlpaWlpBAYABAQEBAQEBCXBvaW50cy42MAIBsAkDQ05ZAQNhbm4A"
                + "AAAAAAIAgLCDxZhoAPVUSvahAAAAtK2nFAFaWlpaWlpCAoACAgICAgICCXBvaW50cy42MAIBsAkDQ05ZAQNhbm4BARAy"
                + "MDAwMDAwMDAwMDAwMDA5AAAABADQv4PFmGgAAqDPg8WYaARwYWlkAlpaWlpaWkICgAICAgICAgI8c2lnbmVkLjIwMDAw"
                + "MDAwMDAwMDAwMDkuNWE1YTVhNWEtNWE1YS00MjAyLTgwMDItMDIwMjAyMDIwMjAy9VRK9jYAAAAW1vWfAVpaWlpaWkMD"
                + "gAMDAwMDAwMJcG9pbnRzLjYwAgGwCQNDTlkBA2FubgAAAAAAAgDw3oPFmGgA9VRK9m8AAAAz89irAVpaWlpaWkMDgAMD"
                + "AwMDAwMJcG9pbnRzLjYwAgGwCQNDTlkBA2FubgEBEDIwMDAwMDAwMDAwMDAwMDgAAAAEAPDeg8WYaAACwO6DxZhoBHBh"
                + "aWQCWlpaWlpaQwOAAwMDAwMDAwpzaWduZWQueC559VRK9nMAAAAF/g/yAVpaWlpaWkMDgAMDAwMDAwMJcG9pbnRzLjYw"
                + "AgGwCQNDTlkBA2FubgEBEDIwMDAwMDAwMDAwMDAwMDgAAAAGAPDeg8WYaAACwO6DxZhoBHBhaWQBkP6DxZhoB2dyYW50"
                + "ZWQEWlpaWlpaQwOAAwMDAwMDAw==") ?? Data())

    @Test("A journal without nonces opens clean, with every order and proof, and continues")
    func oldJournal() async throws {
        let world = PretendWorld(disk: Self.old)
        let app = try PretendApp(world)
        #expect(app.journal.recovery.isClean && app.journal.recovery.orders == 3)
        #expect(await app.journal.entries().map(\.status) == [.completed, .ongoing, .prepared])
        #expect(await app.journal.entries().allSatisfy { $0.idNonce == nil && $0.userID == UserID("ann") })
        let entry = try await app.purchase.prepare(OrderRequest(PretendApp.points))
        let again = try OrderJournal(disk: world.file.disk)
        #expect(again.recovery.isClean && again.recovery.orders == 4)
        #expect(await again[entry.id]?.idNonce == entry.idNonce)
    }

    @Test("An order with a nonce that the server refuses as unproven fails once, and nothing is charged")
    func refused() async throws {
        let world = PretendWorld()
        // The app signed in with another id than the token's.
        world.state.withLock { $0.session = UserSession(userID: UserID("ann"), token: "ann@example.com") }
        let app = try PretendApp(world)
        do {
            _ = try await app.purchase.prepare(OrderRequest(PretendApp.points))
            Issue.record("opened")
        } catch {
            guard case .refused(let id, let refusal) = error else { throw Unexpected("\(error)") }
            #expect(refusal.code == "order_id_unproven")
            #expect(await app.journal[id]?.status == .failed)
            #expect(StoreError(error).sentence.zh == "App 与服务器的登录信息不一致，请重新登录后再购买。")
        }
        #expect(world.state.now.opened.count == 1)
    }

    @Test("A paid order without a nonce keeps its proof and waits while the server does not know its owner")
    func oldPaid() async throws {
        let world = PretendWorld(disk: Self.old)
        let app = try PretendApp(world)
        let old = try #require(await app.journal.ongoing().first)
        let transaction = try #require(await app.journal.paidTransaction(of: old.id))
        world.state.withLock { $0.queue = [transaction] }
        guard case .deliveryPending(let pendingReason, _?) = await app.submitter.submit(transaction) else {
            throw Unexpected("an end")
        }
        #expect(pendingReason.code == "quarantined")
        #expect(world.state.now.bodies.first?.idNonce == nil && world.state.now.finished.isEmpty)
        #expect(await app.journal.proof(of: old.id) == transaction.proof)
        // An operator decided for ann.
        world.state.withLock { $0.orders[old.id] = (UserID("ann"), "points.60", 1) }
        _ = await app.retry.resubmit(on: .launch)
        #expect(await app.journal[old.id]?.status == .completed && world.state.now.queue.isEmpty)
    }
}
