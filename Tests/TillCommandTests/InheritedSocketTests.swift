import Glibc
import Testing
import TillBilling
import TillHTTP

@testable import till

/// LISTEN_FDS, LISTEN_PID and LISTEN_FDNAMES as systemd passes them, on descriptors that the test makes.
@Suite("Inherited sockets") struct InheritedSocketTests {
    /// A listening socket under two consecutive descriptors.
    private struct Sockets {
        let listener: Listener
        let first: Int32

        init() throws {
            listener = try Listener(bodyLimit: { _, _ in 0 }, handler: { _ in HTTPResponse(status: 200) })
            let socket = try listener.duplicateSocket()
            first = fcntl(socket.descriptor, F_DUPFD, 200)
            socket.close()
        }
    }

    private func inherited(
        _ variables: [String: String], first: Int32, parent: Int32 = 1
    ) throws -> InheritedSockets {
        try InheritedSockets(variables, processID: 42, parentID: parent, first: first)
    }

    @Test("The socket is taken if LISTEN_PID names this process, and ignored if it is another program's")
    func processID() async throws {
        let sockets = try Sockets()
        defer { close(sockets.first) }
        let ours = try inherited(
            ["LISTEN_FDS": "1", "LISTEN_PID": "42", "LISTEN_FDNAMES": "till.socket"], first: sockets.first)
        #expect(ours.listening?.port == sockets.listener.port && ours.listening?.host == "127.0.0.1")
        #expect(ours.listening?.isHeldElsewhere == true && ours.predecessor == nil)
        for foreign in [["LISTEN_FDS": "1", "LISTEN_PID": "43"], ["LISTEN_FDS": "1"], ["LISTEN_PID": "42"], [:]] {
            #expect(try inherited(foreign, first: sockets.first).listening == nil, "\(foreign)")
        }
        #expect(try inherited(["LISTEN_FDS": "0", "LISTEN_PID": "42"], first: sockets.first).listening == nil)
        await sockets.listener.stop(grace: 0)
    }

    @Test(
        "Descriptors that are meant for this process and can't be used are an error in both languages",
        arguments: [
            ("2", nil, "passes 2 sockets", "传入了 2 个套接字"), ("x", nil, "LISTEN_FDS is", "LISTEN_FDS 为"),
            ("1", "a:b", "does not match LISTEN_FDNAMES", "与 LISTEN_FDNAMES 不符"),
            ("-1", nil, "LISTEN_FDS is", "LISTEN_FDS 为"),
        ] as [(String, String?, String, String)])
    func unusable(_ count: String, _ names: String?, _ english: String, _ chinese: String) {
        var variables = ["LISTEN_FDS": count, "LISTEN_PID": "42"]
        variables["LISTEN_FDNAMES"] = names
        do {
            _ = try inherited(variables, first: 250)
            Issue.record("\(variables) was taken")
        } catch {
            let reason = (error as? CommandError)?.reasons.first
            #expect(reason?.en.contains(english) == true && reason?.zh.contains(chinese) == true, "\(error)")
        }
    }

    @Test("A descriptor that does not listen is refused with its number")
    func notListening() {
        let file = open("/dev/null", O_RDONLY)
        defer { close(file) }
        do {
            _ = try inherited(["LISTEN_FDS": "1", "LISTEN_PID": "42"], first: file)
            Issue.record("it was taken")
        } catch {
            #expect((error as? CommandError)?.reasons.first?.en.contains("descriptor \(file)") == true, "\(error)")
        }
    }

    @Test("A successor takes its descriptors only from the server that is its parent")
    func successor() async throws {
        let sockets = try Sockets()
        let (own, other) = try #require(HandOverChannel.pair())
        #expect(dup2(other, sockets.first + 1) >= 0)
        close(other)
        defer { close(sockets.first) }
        let variables = ["LISTEN_FDS": "2", "LISTEN_FDNAMES": "bound:handover", "LISTEN_SUCCESSOR_OF": "7"]
        #expect(try inherited(variables, first: sockets.first, parent: 8).listening == nil)
        let taken = try inherited(variables, first: sockets.first, parent: 7)
        #expect(taken.listening?.isHeldElsewhere == false)
        taken.predecessor?.send(.failed("no\nledger"))
        #expect(await own.next(within: .seconds(5)) == .message(.failed("no ledger")))
        own.send(.go)
        #expect(await taken.predecessor?.next(within: .seconds(5)) == .message(.go))
        #expect(await own.next(within: .milliseconds(20)) == .timedOut)
        await sockets.listener.stop(grace: 0)
    }

    @Test(
        "The service manager is told about each step, on a path and under an abstract name", arguments: [false, true])
    func notifications(isAbstract: Bool) throws {
        let directory = try TemporaryDirectory()
        let name = isAbstract ? "@till-\(getpid())-notify" : directory.path + "/notify"
        let receiver = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
        defer { close(receiver) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let path = isAbstract ? [0] + Array(name.utf8.dropFirst()) : Array(name.utf8)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path) }
        let length = socklen_t(2 + path.count)
        let bound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(receiver, $0, length) }
        }
        try #require(bound == 0)
        func next() -> String {
            var buffer = [UInt8](repeating: 0, count: 1_000)
            let count = recv(receiver, &buffer, buffer.count, Int32(MSG_DONTWAIT))
            return count > 0 ? String(decoding: buffer[..<count], as: UTF8.self) : ""
        }
        let manager = ServiceNotifications(environment: ["NOTIFY_SOCKET": name])
        manager.ready()
        #expect(next().hasPrefix("READY=1\n"))
        manager.reloading("x")
        let reloading = next()
        #expect(reloading.hasPrefix("RELOADING=1\nMONOTONIC_USEC=") && reloading.hasSuffix("STATUS=x"))
        manager.handedOver(to: 77)
        #expect(next().hasPrefix("MAINPID=77\nREADY=1\n"))
        manager.stopping()
        #expect(next().hasPrefix("STOPPING=1\n"))
        manager.alive()
        #expect(next() == "WATCHDOG=1")
        ServiceNotifications(environment: [:]).ready()
        #expect(next().isEmpty)
    }

    @Test("The watchdog's time is taken from the service manager, if it is meant for this process")
    func watchdogTime() {
        func time(_ variables: [String: String]) -> Duration? {
            ServiceNotifications(environment: variables, processID: 42).watchdogTime
        }
        #expect(time(["WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "42"]) == .seconds(30))
        #expect(time(["WATCHDOG_USEC": "30000000"]) == .seconds(30))
        #expect(time(["WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "43"]) == nil)
        for nonsense in ["0", "-1", "x", ""] { #expect(time(["WATCHDOG_USEC": nonsense]) == nil) }
        #expect(time([:]) == nil)
    }
}
