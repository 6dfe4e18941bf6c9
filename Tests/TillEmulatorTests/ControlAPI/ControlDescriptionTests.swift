import Testing
import TillBilling
import TillHTTP
import TillJSON

@testable import TillEmulator

@Suite("The control API's own description")
struct ControlDescriptionTests {
    private func document(_ world: EmulatedWorld) async throws -> JSONValue {
        let answer = await world.ask(.get, "/emulator/openapi.json")
        try #require(answer.status == 200)
        #expect(answer.response.headers["Content-Type"] == "application/json")
        return answer.json
    }

    private func operations(_ document: JSONValue) -> [(method: String, path: String, operation: JSONValue)] {
        (document["paths"]?.object ?? [:]).flatMap { path, item in
            (item.object ?? [:]).map { ($0.key.uppercased(), path, $0.value) }
        }
    }

    @Test("Every route is described, and every described path is served, Apple's own paths included")
    func routes() async throws {
        let world = try await EmulatedWorld()
        let notified = operations(try await document(world))
        let served = Set(world.emulator.router.routes.map { "\($0.method.rawValue) \($0.pattern)" })
        let described = Set(notified.map { "\($0.method) \($0.path)" })
        #expect(served.subtracting(described).isEmpty, "not described: \(served.subtracting(described))")
        #expect(described.subtracting(served).isEmpty, "not served: \(described.subtracting(served))")
        #expect(served.count > 20)
        let apple = notified.filter { $0.path.hasPrefix("/inApps/") }
        #expect(!apple.isEmpty)
        #expect(apple.allSatisfy { $0.operation["tags"]?.array?.first == "App Store Server API" })
        for route in world.emulator.router.routes where route.method != .get {
            guard
                let limit = notified.first(where: { $0.method == route.method.rawValue && $0.path == route.pattern })?
                    .operation["x-body-limit"]?.int
            else { continue }
            #expect(limit == Int64(route.bodyLimit), "\(route.pattern)")
        }
        await world.remove()
    }

    @Test("The document is consistent: unique operation ids, the path's parameters, references that resolve")
    func structure() async throws {
        let world = try await EmulatedWorld()
        let document = try await document(world)
        #expect(document["openapi"] == "3.1.0")
        let notified = operations(document)
        #expect(Set(notified.compactMap { $0.operation["operationId"]?.string }).count == notified.count)
        let tags = Set((document["tags"]?.array ?? []).compactMap { $0["name"]?.string })
        for (method, path, operation) in notified {
            let place = "\(method) \(path)"
            #expect(operation["summary"]?.string?.isEmpty == false, "\(place)")
            #expect(operation["responses"]?.object?.isEmpty == false, "\(place)")
            #expect(operation["tags"]?.array?.allSatisfy { tags.contains($0.string ?? "") } == true, "\(place)")
            let wanted = path.split(separator: "/").filter { $0.hasPrefix("{") }.map {
                String($0.dropFirst().dropLast())
            }
            let parameters = operation["parameters"]?.array ?? []
            #expect(
                parameters.filter { $0["in"] == "path" }.compactMap { $0["name"]?.string } == wanted, "\(place)")
            #expect(parameters.allSatisfy { $0["schema"]?.object != nil }, "\(place)")
        }
        let references = Self.references(document)
        let schemas = document["components"]?["schemas"]?.object ?? [:]
        for reference in references {
            let name = reference.split(separator: "/").last.map(String.init) ?? ""
            #expect(reference == "#/components/schemas/\(name)" && schemas[name] != nil, "\(reference)")
        }
        #expect(Set(references.compactMap { $0.split(separator: "/").last.map(String.init) }) == Set(schemas.keys))
        await world.remove()
    }

    private static func references(_ value: JSONValue) -> [String] {
        switch value {
        case .object(let members):
            members.flatMap { name, member in
                name == "$ref" ? [member.string ?? ""] : references(member)
            }
        case .array(let items): items.flatMap(references)
        default: []
        }
    }

    @Test("Every text is in both languages, and one schema name means one answer")
    func words() async throws {
        let world = try await EmulatedWorld()
        var answers: [String: [String]] = [:]
        for route in world.emulator.described {
            #expect(!route.summary.en.isEmpty && !route.summary.zh.isEmpty, "\(route.pattern)")
            #expect(route.summary.zh.unicodeScalars.contains { $0.value >= 0x4E00 }, "\(route.pattern)")
            for member in route.query + route.body + (route.answer?.members ?? []) {
                #expect(!member.note.en.isEmpty && !member.note.zh.isEmpty, "\(route.pattern) \(member.name)")
            }
            #expect(Set(route.body.map(\.name)).count == route.body.count, "\(route.pattern)")
            guard let answer = route.answer else { continue }
            let members = answer.members.map(\.name)
            #expect(answers[answer.name, default: members] == members, "\(answer.name) is two things")
            answers[answer.name] = members
        }
        #expect(answers.count > 3)
        await world.remove()
    }

    @Test("Bodies and queries are checked against their declarations before any action")
    func checks() async throws {
        let member = { (name: String, kind: ControlMember.Kind, isRequired: Bool) in
            ControlMember(name, kind, required: isRequired, LocalizedText(en: name, zh: name))
        }
        var routes = ControlRoutes(Router { _, status, _ in HTTPResponse(status: status) })
        routes.on(
            .post, "/x/{first}/{second}", LocalizedText(en: "x", zh: "x"),
            query: [member("n", .integer(1...5), false), member("f", .bool, false), member("w", .instant, false)],
            body: [
                member("t", .text(limit: 3), true), member("c", .choice(["a", "b"]), false),
                member("p", .number, false), member("u", .uuid, false), member("o", .object([]), false),
                member("l", .texts, false), member("m", .map, false), member("w", .instant, false),
            ]
        ) { call in .json(["id": .string(call.id), "second": .string(call.path["second"])]) }
        let router = routes.router
        func ask(_ body: JSONValue, _ query: [(name: String, value: String)] = []) async throws -> JSONValue {
            let request = HTTPRequest(
                method: .post, path: "/x/1/2", query: query, body: Array(body.encoded().utf8))
            return try JSONValue(decoding: await router.respond(to: request).body)
        }
        #expect(try await ask(["t": "abc"]) == ["id": "1", "second": "2"])
        let good: JSONValue = [
            "t": "a", "c": "b", "p": 0.5, "u": "3f2c91ab-0000-4000-8000-000000000001", "o": [:], "l": [], "m": [:],
            "w": "2026-03-01T08:30:00Z",
        ]
        #expect(try await ask(good, [("n", "5"), ("f", "true")])["id"] == "1")
        #expect(try await ask([:])["code"] == "missing_member")
        #expect(try await ask(["t": .null])["code"] == "missing_member")
        for (name, value) in [
            ("t", JSONValue.string("abcd")), ("t", ""), ("t", 1), ("c", "d"), ("p", "1"), ("u", "x"), ("o", []),
            ("l", [:]), ("m", 1), ("w", "yesterday"), ("c", 1), ("w", 5),
        ] {
            let answer = try await ask(.object(["t": "a"].merging([name: value]) { _, new in new }))
            #expect(answer["code"] == "wrong_value", "\(name) \(value)")
            #expect(answer["title"]?.string?.contains("\"\(name)\"") == true, "\(name) \(value)")
        }
        for query in [("n", "6"), ("n", "x"), ("n", ""), ("n", "99999999999999999999"), ("f", "yes"), ("w", "x")] {
            #expect(try await ask(["t": "a"], [query])["code"] == "wrong_value", "\(query)")
        }
        #expect(try await ask(["t": "a"], [("n", "1"), ("n", "2")])["code"] == "wrong_value")
        #expect(try await ask(["t": "a"], [("m", "1")])["code"] == "unknown_member")
    }
}
