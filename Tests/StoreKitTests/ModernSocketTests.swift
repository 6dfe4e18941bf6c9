import Foundation
import StoreKit
import Testing
import TillEmulator
import TillHTTP

@Suite("StoreKit 2: over a socket")
struct ModernSocketTests {
    @Test("A phone buys, gets updates and finishes over HTTP as in process")
    func socket() async throws {
        try await ModernWorld.with { world in
            let emulator = world.emulator
            let listener = try Listener(
                bodyLimit: emulator.router.bodyLimit(method:path:), handler: emulator.respond(to:))
            let connection = try StoreConnection.http("http://127.0.0.1:\(listener.port)/")
            let phone = try world.phone(connection: connection)
            let listening = phone.listen()
            let id = "\(try await phone.bought("points60", [.quantity(2)]).payloadValue.id)"
            let other = try await world.buy("points300")
            #expect(await listening.receives(1) == [other])
            #expect(await phone.ids { Transaction.unfinished } == [id, other])
            await phone.run {
                for await result in Transaction.unfinished { await result.unsafePayloadValue.finish() }
            }
            #expect(await phone.ids { Transaction.unfinished }.isEmpty)
            await listening.end()
            await listener.stop(grace: 5)
        }
    }
}
