import Foundation
import Testing
import TillHTTP
import TillJSON

@testable import till

/// The example apps, as processes in the shop that a demo keeps open. Programs that read the apps' events find them in
/// Examples/LearnPoints/README.md.
@Suite("The example apps, as processes") struct ExampleJourneys {
    @Test(
        "LearnPoints sells packs, lists the orders with their status and separates users of one phone (L6, L8, P8)",
        arguments: [1, 2])
    func learnPoints(generation: Int) async throws {
        try await OpenShop.open { shop in
            let app = try shop.learnPoints("lin", generation: generation)
            var script = [
                "buy 1", "buy \(Shop.points300) 2", "buy com.example.learn.nothing", "buy 9", "resubmit 7", "dance",
                "wallet", "orders", "restore", "sign-in mia \(shop.token(of: "mia"))", "orders", "sign-out", "wallet",
                "wait 5", "help", "quit",
            ][...]
            let answers: Set = [
                "shop", "purchase", "problem", "wallet", "orders", "restored", "signedIn", "signedOut", "waited",
                "help",
            ]
            var received: [JSONValue] = []
            let visit = try await AppLaunch.run(app, sending: "shop") { stated in
                guard answers.contains(stated["event"]?.string ?? ""), stated["userId"] != "lin" else { return nil }
                received.append(stated)
                return script.popFirst()
            }
            #expect(visit.code == 0)
            try #require(received.count == 16, "\(received)")

            #expect(
                received[0].at("items").list.map { $0.at("productId").text }.prefix(2) == [
                    Shop.points60, Shop.points300,
                ])
            #expect(
                received[0].at("items").list.allSatisfy { $0["canBuy"] == true && $0.at("displayPrice").text != "" })
            #expect(received[1].at("productId").text == Shop.points60 && received[1].at("outcome") == "completed")
            #expect(received[2].at("outcome") == "completed" && received[2].at("order").at("quantity") == 2)
            #expect(received[3].at("outcome") == "failed" && received[3].at("code") == "product_unavailable")
            #expect(received[4].at("code") == "no_such_number" && received[5].at("code") == "no_such_number")
            #expect(received[6].at("code") == "unknown_command")
            #expect(received[7].at("balances") == ["points": 660])
            let orders = received[8].at("orders").list
            #expect(orders.map { $0.at("productId").text } == [Shop.points300, Shop.points60])
            #expect(orders.allSatisfy { $0["status"] == "completed" && $0.at("createdAt").int ?? 0 > 0 })
            #expect(orders.map { $0.at("price").text } == ["9.98", "0.99"])
            #expect(orders.allSatisfy { $0["currency"] == "USD" })
            #expect(orders.map { String($0.at("name").text.prefix { $0 != " " }) } == ["300", "60"])
            #expect(orders.allSatisfy { $0.at("title").text == "Completed" && $0.at("transactionId").text != "" })
            #expect(received[9].at("productIds") == [])
            #expect(received[10].at("userId") == "mia" && received[11].at("orders") == [])
            #expect(received[12].at("event") == "signedOut" && received[13].at("code") == "signed_out")
            #expect(received[14].at("underWay") == 0 && received[15].at("event") == "help")
            #expect(try await shop.points(of: "lin") == 660)
            #expect(try await shop.points(of: "mia") == 0)
        }
    }

    @Test("LearnPoints prints names, prices and every change of an order in the buyer's language (L6)", .slow)
    func forPeople() async throws {
        try await OpenShop.open { shop in
            let english = try shop.start("learnpoints", as: "una")
            try english.tell("shop\nbuy 1\norders\nquit")
            let (page, code) = await english.finish()
            #expect(code == 0, "\(english.complaints)")
            #expect(page.hasPrefix("Hello una."))
            #expect(page.contains("1  60 ") && page.contains("It has arrived. Thank you!"))
            #expect(page.split(separator: "\n").contains { $0.contains("  60 points  0.99 USD  Completed") })

            let account = try await shop.ask(.put, shop.store + "/emulator/accounts/mei", ["storefront": "CHN"])
            #expect(account.status == 200)
            let chinese = try shop.start("learnpoints", as: "mei", language: "zh")
            try chinese.tell("shop\nbuy 1\norders\nwallet\nquit")
            let (list, _) = await chinese.finish()
            #expect(list.contains("  1  60 学点  ¥6.00\n") && list.contains("  5  书库  ¥18.00\n"), "\(list)")
            let line = list.split(separator: "\n").last { $0.contains("  充值完成") }
            #expect(line?.contains("  60 学点  6 CNY  ") == true && list.contains("  60 学点\n"))
        }
    }

    @Test(
        "A second instance on one phone, wrong arguments and an unreachable shop are reported without a crash"
    )
    func badInput() async throws {
        try await OpenShop.open { shop in
            let first = try shop.start("learnpoints", as: "vic")
            try first.tell("orders")
            var lines = first.lines.makeAsyncIterator()
            _ = await lines.next()
            let second = try shop.start("learnpoints", as: "vic")
            #expect(await second.end() == 1)
            #expect(!second.complaints.isEmpty)
            try first.tell("quit")
            #expect(await first.end() == 0)
        }
        let products = TillProcess.executable.deletingLastPathComponent()
        for (program, arguments) in [
            ("learnpoints", ["--server", "http://127.0.0.1:9"]), ("game", ["--dance", "1"]), ("cloudplans", ["--user"]),
            ("game", ["--json"]), ("learnpoints", ["--server", "a", "--user", "b", "--token", "c", "--storekit", "3"]),
        ] {
            let app = try TillProcess.start(
                arguments, executable: products.appendingPathComponent(program).path)
            #expect(await app.end() == 2)
            #expect(app.complaints.contains("\(program) --server URL"))
        }
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("till-phone-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let alone = try TillProcess.start(
            [
                "TILL_STORE=http://127.0.0.1:9", "TILL_STORE_DIRECTORY=\(folder.path)",
                products.appendingPathComponent("learnpoints").path, "--server", "http://127.0.0.1:9", "--user", "wim",
                "--token", "none", "--directory", folder.path, "--lang", "en",
            ], executable: "/usr/bin/env")
        try alone.tell("shop\nbuy \(Shop.points60)\nwallet\norders\nquit")
        let (page, code) = await alone.finish()
        #expect(code == 0)
        #expect(page.contains("The product list is unavailable for now."))
    }

    @Test(
        "The game greys cached products, locks those being bought, and shows purchases awaiting approval (G2, G3, G7)",
        arguments: [1, 2])
    func game(generation: Int) async throws {
        try await OpenShop.open { shop in
            let game = try shop.start("game", as: "xia", generation: generation)
            var lines = game.lines.makeAsyncIterator()
            func line(_ wanted: (String) -> Bool) async -> String? {
                while let line = await lines.next() { if wanted(line) { return line } }
                return nil
            }
            try game.tell("shop")
            #expect(await line { $0.hasPrefix("   1  60 ") } != nil)
            // The second visit: first the cached list in brackets, then the current one.
            try game.tell("shop")
            #expect(await line { $0.hasPrefix("  [1  60 ") && $0.hasSuffix("]") } != nil)
            #expect(await line { $0.hasPrefix("   1  60 ") } != nil)

            try game.tell("buy 1\nbuy 1")
            #expect(await line { $0.contains("Patience") } != nil)
            #expect(await line { $0.contains("The coins are yours!") } != nil)
            #expect(try await shop.points(of: "xia") == 60)

            try await shop.setPaymentSheet(of: "xia", "deferred")
            try game.tell("buy 2")
            #expect(await line { $0.contains("Your family is asked.") } != nil)
            #expect(try await shop.points(of: "xia") == 60)
            try game.tell("quit")
            #expect(await game.end() == 0)

            // Approved while the game is not running, and granted by its next launch at the latest.
            let waiting = try await shop.ask(.get, shop.store + "/emulator/transactions?account=xia&state=deferred")
            let id = try #require(waiting["data"].list.first?["transactionId"]?.string, "\(waiting)")
            try await shop.turnOffNotifications()
            #expect(try await shop.ask(.post, shop.store + "/emulator/transactions/\(id)/approve", [:]).status == 200)
            let next = try shop.start("game", as: "xia", generation: generation)
            for await line in next.lines where line.contains("  300 ") && line.contains("  Completed") {
                try next.tell("coins\nquit")
                break
            }
            #expect(await next.end() == 0)
            #expect(try await shop.points(of: "xia") == 360)
        }
    }

    @Test("till init, till emulate and till catalog check agree on both sample shops", arguments: ["points", "plans"])
    func oneCatalogue(_ sample: String) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("till-init-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let starter = try TillProcess.start(["init", "--sample", sample, folder.path])
        #expect(await starter.end() == 0)
        let emulator = try TillProcess.start(["emulate", "--sample", sample, "--json"])
        defer { emulator.abandon() }
        var lines = emulator.lines.makeAsyncIterator()
        let store = try JSONValue(decoding: try #require(await lines.next())).at("listening").text
        let check = try TillProcess.start(
            ["catalog", "check", "--config", folder.path + "/till.json", "--store", store, "--lang", "en"])
        let (answer, code) = await check.finish()
        #expect(code == 0 && answer == "The catalogue and the store agree.\n", "\(answer) \(check.complaints)")
        emulator.send(SIGTERM)
        #expect(await emulator.end() == 0)
    }
}
