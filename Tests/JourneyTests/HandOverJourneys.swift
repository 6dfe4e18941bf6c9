import Foundation
import Glibc
import Testing
import TillBilling
import TillHTTP
import TillJSON
import TillThreads

/// `till serve` as processes: stopping, sockets of a service manager, and one program taking over from another. The
/// journeys share ports and programs' files, so they run one after another.
@Suite("Restart without error, as processes", .serialized) struct HandOverJourneys {
    // MARK: Stopping

    @Test("After SIGTERM the server says so to balancers, goes on to serve for a while, and then ends with 0 (O6)")
    func lameDuck() async throws {
        try await ServerProcess.withFiles { files in
            try files.configure("drain", ["lameDuckMilliseconds": 3_000])
            let (process, port) = try await files.start()
            #expect(try await files.send(port, .get, "/readyz").status == 200)
            process.send(SIGTERM)
            var said: Reply?
            for _ in 0..<200 where said == nil {
                let reply = try await files.send(port, .get, "/readyz")
                if reply.status == 503 { said = reply } else { try await Task.sleep(for: .milliseconds(10)) }
            }
            #expect(said?["status"].text == "draining" && said?.headers["Retry-After"] != nil)
            #expect(said?.headers["Connection"]?.lowercased() == "close")
            try await files.buy(port, as: "late")
            #expect(await process.end() == 0, "\(process.complaints)")
        }
    }

    @Test("A second signal ends the server at once")
    func secondSignal() async throws {
        try await ServerProcess.withFiles { files in
            try files.configure("drain", ["lameDuckMilliseconds": 60_000])
            let (process, port) = try await files.start()
            process.send(SIGTERM)
            while try await files.send(port, .get, "/readyz").status != 503 {}
            process.send(SIGTERM)
            #expect(await process.end() == -SIGTERM)
            let (again, _) = try await files.start()
            again.send(SIGKILL)
        }
    }

    // MARK: Socket activation

    @Test("On a socket of a service manager no request fails between one server and the next")
    func socketActivation() async throws {
        try await ServerProcess.withFiles { files in
            let held = try HeldSocket()
            defer { close(held.descriptor) }
            for round in 0..<3 {
                // Before a server runs: the request waits in the socket.
                let early = Task { try await files.send(held.port, .get, "/v1/products") }
                try await Task.sleep(for: .milliseconds(50))
                let (process, port) = try await files.start(on: held.descriptor)
                #expect(port == held.port)
                #expect(try await early.value.status == 200)
                try await files.buy(port, as: "u\(round)")
                process.send(SIGTERM)
                #expect(await process.end() == 0, "\(process.complaints)")
            }
        }
    }

    /// A listening socket that the test holds, as systemd does for a socket unit.
    private struct HeldSocket {
        let descriptor: Int32
        let port: UInt16

        init() throws {
            let listener = try Listener(bodyLimit: { _, _ in 0 }, handler: { _ in .hangUp })
            let socket = try listener.duplicateSocket()
            (descriptor, port) = (socket.descriptor, socket.port)
            // Nothing accepts on it any more.
            let stopped = DispatchSemaphore(value: 0)
            Task {
                await listener.handOver(grace: 0)
                stopped.signal()
            }
            stopped.wait()
        }
    }

    // MARK: Hand-over

    @Test("SIGUSR2: another process takes over on the same port, and no request fails meanwhile")
    func handOver() async throws {
        try await ServerProcess.withFiles { files in
            let program = try Program(in: files.folder)
            let (process, port) = try await files.start(program: program.path)
            try await files.buy(port, as: "before")
            let (isOver, failures, answered) = (Locked(false), Locked<[String]>([]), Locked(0))
            await withThrowingTaskGroup(of: Void.self) { group in
                for client in 0..<4 {
                    group.addTask {
                        var number = 0
                        while !isOver.withLock({ $0 }) {
                            // A user's orders are limited.
                            let user = "c\(client)-\(number)"
                            let order = ProvenOrder(of: user, number)
                            let reply = try await files.send(
                                port, .post, "/v1/orders", order.opening(["productId": .string(Shop.points60)]),
                                as: .user(user))
                            if reply.status != 201 { failures.withLock { $0.append("\(reply.status)") } }
                            answered.withLock { $0 += 1 }
                            number += 1
                            try await Task.sleep(for: .milliseconds(20))
                        }
                    }
                }
                group.addTask {
                    defer { isOver.withLock { $0 = true } }
                    let count = answered.withLock { $0 }
                    process.send(SIGUSR2)
                    let next = try await files.nextProcess(of: process)
                    #expect(next.port == port && next.id != process.id)
                    #expect(await process.end() == 0, "\(process.complaints)")
                    try await Task.sleep(for: .milliseconds(300))
                    #expect(answered.withLock { $0 } > count)
                }
                do {
                    try await group.waitForAll()
                } catch {
                    Issue.record("\(error) \(process.complaints)")
                }
            }
            #expect(failures.withLock { $0 }.isEmpty)
            #expect(try await files.send(port, .get, "/v1/users/before/wallet")["balances"].at("points").int == 60)
        }
    }

    @Test("`till reload` reaches the process that serves: the old one after a failed hand-over, else the new one")
    func reload() async throws {
        try await ServerProcess.withFiles { files in
            let program = try Program(in: files.folder)
            let (process, port) = try await files.start(program: program.path)
            /// Changes the price and returns it as an order has it.
            func reload(to price: Int64) async throws -> Int64? {
                let catalog = files.folder.appendingPathComponent("catalog.json")
                let text = try String(contentsOf: catalog, encoding: .utf8)
                let changed = text.replacing(#/"amount": \d+/#, with: "\"amount\": \(price)")
                try Data(changed.utf8).write(to: catalog)
                let till = try TillProcess.start(["reload", "--config", files.configurationFile])
                let (output, code) = await till.finish()
                #expect(code == 0 && output.contains("\(price) CNY"), "\(output) \(till.complaints)")
                let order = try await files.send(
                    port, .post, "/v1/orders", ["productId": .string(Shop.points60)], as: .user("u\(price)"))
                return order["price"].at("amount").int
            }
            #expect(try await reload(to: 700) == 700)
            // It dies when it should open the ledger: the server opens it again, with the configuration in force.
            try program.replace(with: "#!/bin/sh\necho ready >&4\nread answer <&4\nexit 4\n")
            process.send(SIGUSR2)
            for _ in 0..<1_000 where !process.complaints.contains("handover_failed") {
                try await Task.sleep(for: .milliseconds(10))
            }
            #expect(try await reload(to: 800) == 800)
            try program.restore()
            process.send(SIGUSR2)
            let next = try await files.nextProcess(of: process)
            #expect(await process.end() == 0, "\(process.complaints)")
            let state = try String(contentsOfFile: files.ledgerFile + "-server", encoding: .utf8)
            #expect(state.contains("\"process\":\(next.id)"), "\(state)")
            #expect(try await reload(to: 900) == 900)
        }
    }

    @Test("A reload that is asked for during a hand-over is not lost, and two signals are one reload")
    func reloadMeanwhile() async throws {
        try await ServerProcess.withFiles { files in
            let program = try Program(in: files.folder)
            let (process, port) = try await files.start(program: program.path)
            let mark = files.folder.appendingPathComponent("started")
            let goes = files.folder.appendingPathComponent("go")
            try program.replace(
                with: """
                    #!/bin/sh
                    echo $$ > \(mark.path)
                    while [ ! -e \(goes.path) ]; do sleep 0.02; done
                    exit 3

                    """)
            process.send(SIGUSR2)
            for _ in 0..<1_000 where !FileManager.default.fileExists(atPath: mark.path) {
                try await Task.sleep(for: .milliseconds(10))
            }
            try files.configure("logLevel", "debug")
            process.send(SIGHUP)
            process.send(SIGHUP)
            try await Task.sleep(for: .milliseconds(100))
            #expect(!process.complaints.contains("reloaded"))
            try Data().write(to: goes)
            for _ in 0..<1_000 where !process.complaints.contains("\"reloaded\"") {
                try await Task.sleep(for: .milliseconds(10))
            }
            #expect(process.complaints.contains("logLevel"), "\(process.complaints)")
            try await files.buy(port, as: "after")
            process.send(SIGTERM)
            #expect(await process.end() == 0, "\(process.complaints)")
            #expect(process.complaints.split(separator: "\n").count { $0.contains("\"reloaded\"") } == 1)
        }
    }

    @Test("If the new program can't serve, the running one goes on and says why", .slow)
    func refused() async throws {
        try await ServerProcess.withFiles { files in
            let program = try Program(in: files.folder)
            let (process, port) = try await files.start(program: program.path)
            var expected = 0
            func refuse(_ phrase: String) async throws {
                expected += 1
                process.send(SIGUSR2)
                func reasons() -> [Substring] {
                    process.complaints.split(separator: "\n").filter { $0.contains("handover_failed") }
                }
                for _ in 0..<2_000 where reasons().count < expected { try await Task.sleep(for: .milliseconds(10)) }
                #expect(reasons().last?.contains(phrase) == true, "\(process.complaints)")
                try await files.buy(port, as: "u\(expected)")
            }
            try program.replace(with: "#!/bin/sh\nexit 3\n")
            try await refuse("it ended with exit code 3")
            try program.replace(with: "#!/bin/sh\nkill -9 $$\n")
            try await refuse("signal 9 ended it")
            try program.replace(with: "no program")
            try await refuse("can't be started")
            // It says that it is ready, and dies when it should open the ledger: the server opens it again.
            try program.replace(with: "#!/bin/sh\necho ready >&4\nread answer <&4\nexit 4\n")
            try await refuse("it ended with exit code 4")
            try program.restore()
            let good = try String(contentsOfFile: files.configurationFile, encoding: .utf8)
            try Data("{".utf8).write(to: URL(fileURLWithPath: files.configurationFile))
            try await refuse("can't serve")
            try Data(good.utf8).write(to: URL(fileURLWithPath: files.configurationFile))
            // After all this a good program takes over.
            process.send(SIGUSR2)
            let next = try await files.nextProcess(of: process)
            #expect(next.port == port && next.id != process.id)
            #expect(await process.end() == 0, "\(process.complaints)")
            try await files.buy(port, as: "last")
        }
    }

    @Test("A ledger that a newer release has changed is refused, and the server goes on")
    func newerLedger() async throws {
        try await ServerProcess.withFiles { files in
            let (process, port) = try await files.start(program: try Program(in: files.folder).path)
            let sqlite = try TillProcess.start(
                ["-cmd", ".timeout 10000", files.ledgerFile, "PRAGMA user_version = 999"],
                executable: "/usr/bin/sqlite3")
            #expect(await sqlite.finish().code == 0)
            process.send(SIGUSR2)
            for _ in 0..<1_000 where !process.complaints.contains("handover_failed") {
                try await Task.sleep(for: .milliseconds(10))
            }
            #expect(process.complaints.contains("schema version 999"), "\(process.complaints)")
            try await files.buy(port, as: "u1")
            process.send(SIGKILL)
        }
    }

    @Test("A stop during a hand-over stops the server, and the new program with it")
    func stopMeanwhile() async throws {
        try await ServerProcess.withFiles { files in
            let program = try Program(in: files.folder)
            let (process, _) = try await files.start(program: program.path)
            let mark = files.folder.appendingPathComponent("started").path
            try program.replace(with: "#!/bin/sh\necho $$ > \(mark)\nexec sleep 60\n")
            process.send(SIGUSR2)
            for _ in 0..<1_000 where !FileManager.default.fileExists(atPath: mark) {
                try await Task.sleep(for: .milliseconds(10))
            }
            process.send(SIGTERM)
            // The stop ends the new program too, at once: it must not have inherited blocked signals.
            let began = ContinuousClock.now
            #expect(await process.end() == 0, "\(process.complaints)")
            #expect(ContinuousClock.now - began < .seconds(5))
            #expect(process.complaints.contains("the server was stopped meanwhile"), "\(process.complaints)")
        }
    }

    // MARK: A hundred in short

    @Test("Five replacements under load: no request fails, and every answered grant is in the ledger once", .slow)
    func underLoad() async throws {
        try await ServerProcess.withFiles { files in
            let load = TillProcess.programs.appendingPathComponent("till-load").path
            let process = try TillProcess.start(
                [
                    "upgrade", files.folder.appendingPathComponent("load").path, TillProcess.executable.path, "-", "5",
                    "3000", "5000",
                ], executable: load)
            let (output, code) = await process.finish()
            #expect(code == 0, "\(output)\n\(process.complaints)")
            #expect(output.contains("5 replacements"))
            #expect(output.contains(", 0 failed;"))
        }
    }
}

/// A program's file that a test replaces while the program runs.
private struct Program {
    let path: String

    init(in folder: URL) throws {
        path = folder.appendingPathComponent("till").path
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: TillProcess.executable.path)
    }

    func replace(with text: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: path + ".new"))
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path + ".new")
        #expect(rename(path + ".new", path) == 0)
    }

    func restore() throws {
        try FileManager.default.createSymbolicLink(
            atPath: path + ".new", withDestinationPath: TillProcess.executable.path)
        #expect(rename(path + ".new", path) == 0)
    }
}
