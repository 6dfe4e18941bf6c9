import Testing
import TillAppStore
import TillBilling
import TillHTTP
import TillThreads

@testable import till

@Suite("A server beside an emulated store follows its clock (issue 20)")
struct EmulatorClockTests {
    /// A store whose answers a test sets, and a machine's clock that a test advances.
    private final class World: Sendable {
        private struct State {
            var machine = Instant(seconds: 1_790_000_000)
            var ahead: Int64 = 0
            var isStopped = false
            var asked = 0
            var fault: HTTPError?
        }

        private let state = Locked(State())

        var machine: Instant { state.withLock { $0.machine } }
        var asked: Int { state.withLock { $0.asked } }
        func pass(_ milliseconds: Int64) {
            state.withLock { $0.machine = $0.machine.adding(milliseconds: milliseconds) }
        }
        func advance(days: Int64) { state.withLock { $0.ahead += days * 86_400_000 } }
        func stop() { state.withLock { $0.isStopped = true } }
        func fail(_ fault: HTTPError?) { state.withLock { $0.fault = fault } }

        func clock() -> EmulatorClock {
            EmulatorClock(
                origin: "http://store.test",
                send: { url, _ throws(HTTPError) in
                    let (fault, body) = self.state.withLock { state -> (HTTPError?, String) in
                        state.asked += 1
                        let now = state.machine.adding(milliseconds: state.ahead).rfc3339
                        return (state.fault, #"{"now":"\#(now)","stopped":\#(state.isStopped),"moving":false}"#)
                    }
                    if let fault { throw fault }
                    // A header is no clock, whatever it says.
                    let date = HTTPHeaders([("Date", "Thu, 01 Jan 2099 00:00:00 GMT")])
                    return url == "http://store.test/emulator/clock"
                        ? HTTPResponse(status: 200, headers: date, body: Array(body.utf8)) : HTTPResponse(status: 404)
                }, machine: { self.machine })
        }
    }

    @Test("The store's time is the server's, runs on between two readings, and stands still with a stopped store")
    func follows() async {
        let world = World()
        let clock = world.clock()
        #expect(clock.now == world.machine, "before the first reading")
        world.advance(days: 30)
        await clock.refresh()
        #expect(clock.now == world.machine.adding(seconds: 30 * 86_400))
        world.pass(500)
        #expect(clock.now == world.machine.adding(seconds: 30 * 86_400))
        world.stop()
        await clock.refresh()
        let stopped = clock.now
        world.pass(10)
        #expect(clock.now == stopped)
    }

    @Test("Requests that come together share one reading, and later ones read again")
    func reading() async {
        let world = World()
        let clock = world.clock()
        for _ in 0..<50 { await clock.refresh() }
        #expect(world.asked == 1)
        world.pass(EmulatorClock.memory + 1)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<50 { group.addTask { await clock.refresh() } }
        }
        #expect(world.asked == 2)
    }

    @Test("A store that stops answering is asked once, reported once, and followed again when it answers")
    func unanswered() async {
        let world = World()
        let clock = world.clock()
        world.advance(days: 1)
        await clock.refresh()
        world.fail(HTTPError(.timedOut, "no answer"))
        world.pass(1_000)
        await clock.refresh()
        let asked = world.asked
        for _ in 0..<20 {
            world.pass(100)
            await clock.refresh()
        }
        #expect(world.asked == asked, "requests don't wait for it any more")
        #expect(clock.now == world.machine.adding(seconds: 86_400), "counts on from the last reading")
        #expect(await clock.read() == nil, "reported with the first failure")
        world.fail(nil)
        world.advance(days: 1)
        #expect(await clock.read() == nil)
        #expect(clock.now == world.machine.adding(seconds: 2 * 86_400))
        world.fail(HTTPError(.cannotConnect, "refused"))
        #expect(await clock.read()?.en.contains("http://store.test/emulator/clock") == true)
    }

    @Test("A 401 because the store's clock was advanced during the request is an outage, every other 401 stays one")
    func refusedToken() async throws {
        let world = World()
        let clock = world.clock()
        await clock.refresh()
        let exchange = clock.following { _ throws(AppleConnectionError) in
            world.advance(days: 3)
            return AppleResponse(status: 401)
        }
        await #expect(throws: AppleConnectionError.self) { try await exchange(AppleRequest(.get, "http://store.test")) }
        let wrongKey = clock.following { _ throws(AppleConnectionError) in AppleResponse(status: 401) }
        #expect(try await wrongKey(AppleRequest(.get, "http://store.test")).status == 401)
    }

    @Test("Without apple.emulator there is no other clock than the machine's, and production excludes apple.emulator")
    func onlyEmulator() throws {
        func followed(_ apple: String) throws -> Bool {
            let directory = try TemporaryDirectory()
            let file = try directory.write(
                "till.json",
                #"{"database": "sqlite:a.db", "catalog": \#(sampleCatalog), "apple": {"bundleId": "a", \#(apple)}}"#)
            let configuration = try Configuration.load(file: file)
            let clock = try FollowedClock(configuration, process: Recorder().process())
            clock?.stop()
            return clock != nil
        }
        #expect(try followed(#""environments": ["Sandbox"]"#) == false)
        #expect(try followed(#""environments": ["Production", "Sandbox"], "appAppleId": 1"#) == false)
        #expect(try followed(#""environments": ["Sandbox"], "emulator": "http://127.0.0.1:9""#))
        #expect(throws: ConfigurationError.self) {
            try followed(#""environments": ["Production"], "appAppleId": 1, "emulator": "http://127.0.0.1:9""#)
        }
    }
}
