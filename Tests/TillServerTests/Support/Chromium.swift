import Foundation
import TillJSON
import TillThreads

/// A real browser without a window, driven by the DevTools protocol over a pair of pipes: JSON texts that end with NUL
/// (chromium's `--remote-debugging-pipe` reads from descriptor 3 and writes to 4).
final class Chromium: Sendable {
    static let path: String? = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].first {
        FileManager.default.isExecutableFile(atPath: $0)
    }

    struct Failure: Error, CustomStringConvertible {
        let description: String
        init(_ description: String) { self.description = description }
    }

    private struct Conversation {
        var next: Int64 = 0
        var waiting: [Int64: CheckedContinuation<JSONValue, any Error>] = [:]
        var unread = Data()
        var events: [(method: String, parameters: JSONValue)] = []
        var isOver = false
    }

    private let process: Process
    private let input: FileHandle
    private let conversation = Locked(Conversation())
    /// The time limit of one command.
    private static let patience = Duration.seconds(60)

    /// Opens a browser with one empty page, and ends it in every case.
    static func open<Value>(_ use: (BrowserPage) async throws -> Value) async throws -> Value {
        guard let path else { throw Failure("no chromium is installed") }
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("till-browser-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let browser = try Chromium(path, profile: folder)
        func end() async {
            await browser.end()
            try? FileManager.default.removeItem(at: folder)
        }
        do {
            let value = try await use(try await browser.page())
            await end()
            return value
        } catch {
            let log = (try? String(contentsOf: folder.appendingPathComponent("stderr"), encoding: .utf8)) ?? ""
            await end()
            throw error is Failure ? Failure("\(error)\nthe browser said: \(log.suffix(2_000))") : error
        }
    }

    private init(_ path: String, profile: URL) throws {
        // If the browser dies, the tests go on.
        signal(SIGPIPE, SIG_IGN)
        let (toBrowser, fromBrowser) = (Pipe(), Pipe())
        process = Process()
        input = toBrowser.fileHandleForWriting
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        // The shell becomes the browser and moves its standard streams to the protocol's descriptors.
        process.arguments = [
            "-c", #"log="$1"; shift; exec "$@" 3<&0 4>&1 </dev/null >/dev/null 2>"$log""#, "sh",
            profile.appendingPathComponent("stderr").path, path, "--headless=new", "--no-sandbox", "--disable-gpu",
            "--disable-dev-shm-usage", "--remote-debugging-pipe", "--user-data-dir=\(profile.path)", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
            "--disable-crash-reporter", "--mute-audio", "--lang=en-US", "--accept-lang=en-US,en",
            // Every name fails to resolve, so pages reach only the server under test.
            "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1", "about:blank",
        ]
        process.standardInput = toBrowser
        process.standardOutput = fromBrowser
        process.standardError = FileHandle.nullDevice
        fromBrowser.fileHandleForReading.readabilityHandler = { [weak self] handle in
            let data = handle.availableData
            if data.isEmpty { handle.readabilityHandler = nil }
            self?.hear(data)
        }
        try process.run()
    }

    /// Asks the browser to close, and ends the process by its id if it doesn't.
    private func end() async {
        conversation.withLock { $0.isOver = true }
        try? input.write(contentsOf: Data(#"{"id":0,"method":"Browser.close"}"#.utf8) + [0])
        for _ in 0..<50 where process.isRunning { try? await Task.sleep(for: .milliseconds(100)) }
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
        process.waitUntilExit()
        try? input.close()
    }

    private func page() async throws -> BrowserPage {
        let target = try await send("Target.createTarget", ["url": "about:blank"])["targetId"] ?? .null
        let attached = try await send("Target.attachToTarget", ["targetId": target, "flatten": true])
        guard let session = attached["sessionId"]?.string else { throw Failure("no page: \(attached.encoded())") }
        let page = BrowserPage(browser: self, session: session)
        for domain in ["Page", "Runtime", "Log", "Network"] { try await page.send("\(domain).enable") }
        return page
    }

    // MARK: Messages

    @discardableResult
    func send(_ method: String, _ parameters: JSONValue = [:], session: String? = nil) async throws -> JSONValue {
        let id = conversation.withLock { conversation in
            conversation.next += 1
            return conversation.next
        }
        var message: [String: JSONValue] = ["id": .int(id), "method": .string(method), "params": parameters]
        if let session { message["sessionId"] = .string(session) }
        let text = Data(JSONValue.object(message).encoded().utf8) + [0]
        let timer = Task {
            try await Task.sleep(for: Self.patience)
            answer(id, .failure(Failure("\(method) took too long")))
        }
        defer { timer.cancel() }
        return try await withCheckedThrowingContinuation { continuation in
            let isOver = conversation.withLock { conversation in
                if !conversation.isOver { conversation.waiting[id] = continuation }
                return conversation.isOver
            }
            if isOver { return continuation.resume(throwing: Failure("the browser is gone")) }
            do {
                try input.write(contentsOf: text)
            } catch {
                answer(id, .failure(Failure("the browser doesn't listen: \(error)")))
            }
        }
    }

    private func answer(_ id: Int64, _ result: Result<JSONValue, any Error>) {
        conversation.withLock { $0.waiting.removeValue(forKey: id) }?.resume(with: result)
    }

    private func hear(_ data: Data) {
        guard !data.isEmpty else {
            let abandoned = conversation.withLock { conversation in
                conversation.isOver = true
                defer { conversation.waiting = [:] }
                return conversation.waiting.values
            }
            for continuation in abandoned { continuation.resume(throwing: Failure("the browser went away")) }
            return
        }
        let messages = conversation.withLock { conversation in
            conversation.unread.append(data)
            var parts = conversation.unread.split(separator: 0, omittingEmptySubsequences: false)
            conversation.unread = Data(parts.removeLast())
            return parts
        }
        for message in messages {
            guard let value = try? JSONValue(decoding: message) else { continue }
            if let id = value["id"]?.int {
                let problem = value["error"].map { Failure("\($0["message"]?.string ?? "")") }
                answer(id, problem.map { .failure($0) } ?? .success(value["result"] ?? .null))
            } else if let method = value["method"]?.string {
                conversation.withLock { $0.events.append((method, value["params"] ?? .null)) }
            }
        }
    }

    /// The events of the browser since the last call.
    func takeEvents() -> [(method: String, parameters: JSONValue)] {
        conversation.withLock { conversation in
            defer { conversation.events = [] }
            return conversation.events
        }
    }
}

/// One page, with a mouse and a keyboard.
struct BrowserPage: Sendable {
    let browser: Chromium
    let session: String

    @discardableResult
    func send(_ method: String, _ parameters: JSONValue = [:]) async throws -> JSONValue {
        try await browser.send(method, parameters, session: session)
    }

    func open(_ url: String) async throws {
        let answer = try await send("Page.navigate", ["url": .string(url)])
        if let problem = answer["errorText"]?.string { throw Chromium.Failure("\(url): \(problem)") }
        try await until("document.readyState === 'complete'", "\(url) is there")
    }

    /// The value of an expression in the page.
    func value(_ expression: String) async throws -> JSONValue {
        let answer = try await send(
            "Runtime.evaluate",
            ["expression": .string(expression), "returnByValue": true, "awaitPromise": true])
        if let problem = answer["exceptionDetails"] {
            throw Chromium.Failure("\(expression): \(problem["exception"]?["description"]?.string ?? "failed")")
        }
        return answer["result"]?["value"] ?? .null
    }

    func text(_ expression: String) async throws -> String { try await value(expression).string ?? "" }

    /// Waits for a condition. During a navigation no condition holds.
    func until(_ expression: String, _ what: String, within limit: Duration = .seconds(30)) async throws {
        let deadline = ContinuousClock.now + limit
        while ContinuousClock.now < deadline {
            if (try? await value("Boolean(\(expression))")) == true { return }
            try await Task.sleep(for: .milliseconds(40))
        }
        let state = (try? await text("location.href + '\\n' + document.body.innerText.slice(0, 1500)")) ?? ""
        throw Chromium.Failure("waited in vain until \(what): \(expression)\nthe page: \(state)")
    }

    /// Clicks into the middle of an element once the page is complete and the element no longer moves. A click while
    /// the page was still loading would hit an earlier element.
    func click(_ selector: String) async throws {
        try await until("document.readyState === 'complete'", "the page is whole")
        // Polls from outside: where scripts are forbidden, a timer in the page would never fire.
        let middle = """
            (() => { const found = document.querySelector(\(JSONValue.string(selector).encoded()));
              found.scrollIntoView({ block: "center", behavior: "instant" });
              const box = found.getClientRects()[0];
              return [box.x + box.width / 2, box.y + box.height / 2]; })()
            """
        var place = try await value(middle)
        for _ in 0..<40 {
            try await Task.sleep(for: .milliseconds(40))
            let again = try await value(middle)
            if again == place { break }
            place = again
        }
        guard let x = place.array?.first, let y = place.array?.last else {
            throw Chromium.Failure("nothing to click: \(selector)")
        }
        for type in ["mousePressed", "mouseReleased"] {
            try await send(
                "Input.dispatchMouseEvent",
                ["type": .string(type), "x": x, "y": y, "button": "left", "clickCount": 1])
        }
    }

    func type(_ text: String) async throws { try await send("Input.insertText", ["text": .string(text)]) }

    func press(_ key: String, code: Int64, text: String? = nil) async throws {
        var down: [String: JSONValue] = [
            "type": "keyDown", "key": .string(key), "code": .string(key), "windowsVirtualKeyCode": .int(code),
        ]
        if let text { down["text"] = .string(text) }
        try await send("Input.dispatchKeyEvent", .object(down))
        try await send(
            "Input.dispatchKeyEvent",
            ["type": "keyUp", "key": .string(key), "code": .string(key), "windowsVirtualKeyCode": .int(code)])
    }

    func resize(width: Int64, height: Int64, isPhone: Bool) async throws {
        try await send(
            "Emulation.setDeviceMetricsOverride",
            [
                "width": .int(width), "height": .int(height), "deviceScaleFactor": isPhone ? 2 : 1,
                "mobile": .bool(isPhone),
            ])
    }

    func prefer(dark: Bool) async throws {
        let scheme: JSONValue = ["name": "prefers-color-scheme", "value": dark ? "dark" : "light"]
        // Text that is still fading in would be measured with the wrong contrast.
        let motion: JSONValue = ["name": "prefers-reduced-motion", "value": "reduce"]
        try await send("Emulation.setEmulatedMedia", ["features": .array([scheme, motion])])
    }

    /// Errors in the console since the last call: scripts that threw, files that failed to load, and everything that
    /// the content security policy blocked.
    func takeErrors() -> [String] {
        browser.takeEvents().compactMap { event in
            switch event.method {
            case "Log.entryAdded":
                let entry = event.parameters["entry"]
                return entry?["level"]?.string == "error" ? entry?["text"]?.string : nil
            case "Runtime.exceptionThrown": return event.parameters["exceptionDetails"]?.encoded()
            case "Runtime.consoleAPICalled":
                return event.parameters["type"]?.string == "error" ? event.parameters["args"]?.encoded() : nil
            default: return nil
            }
        }
    }

    /// Saves a picture in the folder that `TILL_SCREENSHOTS` names; without the variable, does nothing.
    func picture(_ name: String) async throws {
        guard let folder = ProcessInfo.processInfo.environment["TILL_SCREENSHOTS"] else { return }
        let answer = try await send("Page.captureScreenshot", ["format": "png", "captureBeyondViewport": true])
        let data = Data(base64Encoded: answer["data"]?.string ?? "") ?? Data()
        try data.write(to: URL(fileURLWithPath: folder).appendingPathComponent("\(name).png"))
    }
}
