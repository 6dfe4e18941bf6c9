import Testing
import TillAPI
import TillBilling

@testable import TillClient

@Suite("A guest signs in")
struct GuestMergeTests {
    /// A guest has bought here and signs in.
    private func bought(_ world: PretendWorld) async throws -> (TillStore, guest: String) {
        let store = try await world.launch(nil)
        let guest = await store.guestID
        await store.signIn(guest) { guest }
        guard case .completed = await store.buy("points.60") else { throw Unexpected("not completed") }
        return (store, guest)
    }

    private func merges(_ world: PretendWorld) -> Int {
        world.state.now.requests.filter { $0 == "POST /v1/users/ann/guests" }.count
    }

    @Test("P12: a guest's purchases and orders become the account's, and the merge is requested once")
    func merged() async throws {
        let world = PretendWorld()
        let (store, guest) = try await bought(world)
        #expect(await store.signIn("ann", mergingGuest: { guest }, token: { "ann" }) == .merged)
        #expect(world.state.now.guests == [UserID(guest): UserID("ann")])
        #expect(world.state.now.grants.values.map(\.text) == ["ann"])
        #expect(await store.orders().map(\.status) == [.completed])
        #expect(await store.signIn("ann", mergingGuest: { guest }, token: { "ann" }) == .nothing)
        #expect(merges(world) == 1)
        // The next user without an account is another guest, also after the next launch.
        let next = await store.guestID
        #expect(next != guest)
        await world.end(store)
        let second = try await world.launch(nil)
        #expect(await second.guestID == next)
        #expect(await second.orders(all: true).count == 1)
        await world.end(second)
    }

    @Test("P12: a guest without purchases is not merged, and no guest token is created")
    func nothing() async throws {
        let world = PretendWorld()
        let store = try await world.launch(nil)
        let guest = await store.guestID
        let asked = Guarded(false)
        let merge = await store.signIn(
            "ann",
            mergingGuest: {
                asked.withLock { $0 = true }
                return guest
            }, token: { "ann" })
        #expect(merge == .nothing && !asked.now && merges(world) == 0)
        #expect(await store.guestID == guest)
        await world.end(store)
    }

    @Test("P12: a failed merge changes nothing on the device, and succeeds at the next launch's sign-in")
    func retried() async throws {
        let world = PretendWorld()
        let (store, guest) = try await bought(world)
        await store.signIn("ann") { "ann" }
        _ = await world.isIdle(store)
        let (journal, identity) = (world.file.bytes, world.identity.bytes)
        world.state.withLock { $0.answers = [.failure(TransportError(.connectionLost))] }
        let first = await store.signIn("ann", mergingGuest: { guest }, token: { "ann" })
        #expect(first == .postponed(TillError(.server(.noResponse(TransportError(.connectionLost))))))
        #expect(
            await store.signIn("ann", mergingGuest: { nil }, token: { "ann" }) == .postponed(TillError(.notSignedIn)))
        let refused = await store.signIn("ann", mergingGuest: { "ben" }, token: { "ann" })
        #expect(refused.error?.code.rawValue == Refusal.forbidden.rawValue)
        #expect(world.file.bytes == journal && world.identity.bytes == identity)
        #expect(await store.orders().isEmpty)
        await world.end(store)
        let second = try await world.launch(nil)
        #expect(await second.signIn("ann", mergingGuest: { guest }, token: { "ann" }) == .merged)
        #expect(await second.orders().count == 1)
        await world.end(second)
    }

    @Test("P12: a guest merged into another account is reported once, and the next guest is a new one")
    func taken() async throws {
        let world = PretendWorld()
        let (store, guest) = try await bought(world)
        world.state.withLock { $0.guests[UserID(guest)] = UserID("ben") }
        let merge = await store.signIn("ann", mergingGuest: { guest }, token: { "ann" })
        #expect(merge.error?.code.rawValue == Refusal.guestTaken.rawValue)
        #expect(await store.orders().isEmpty)
        #expect(await store.guestID != guest)
        #expect(await store.signIn("ann", mergingGuest: { guest }, token: { "ann" }) == .nothing)
        await world.end(store)
    }

    @Test(
        "P12: with a full disk the merge holds at the server, and is requested again until the device has recorded it")
    func fullDisk() async throws {
        let world = PretendWorld()
        let (store, guest) = try await bought(world)
        await store.signIn("ann") { "ann" }
        _ = await world.isIdle(store)
        world.file.state.withLock { $0.capacity = 0 }
        let merge = await store.signIn("ann", mergingGuest: { guest }, token: { "ann" })
        guard case .postponed(let error) = merge, error.code == .diskFull else { throw Unexpected("\(merge)") }
        #expect(await store.guestID == guest)
        world.file.state.withLock { $0.capacity = .max }
        #expect(await store.signIn("ann", mergingGuest: { guest }, token: { "ann" }) == .merged)
        await world.end(store)
    }
}
