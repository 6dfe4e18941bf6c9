import Foundation
import Testing
import TillBilling

@Suite("A product's names in any language (issue 20)")
struct ProductNamesTests {
    private let names = ProductNames(["en": "60 points", "zh-Hans": "60 学点", "zh-Hant": "60 學點", "pt-BR": "60 pontos"])

    @Test(
        "The name follows Accept-Language: the exact tag, a shorter one, another form of the language, English",
        arguments: [
            ("zh-Hant", "60 學點"), ("zh-Hant-TW", "60 學點"), ("zh-Hans-CN", "60 学点"), ("zh", "60 学点"),
            ("ZH-HANT", "60 學點"), ("pt", "60 pontos"), ("pt-PT,en;q=0.5", "60 pontos"), ("en-GB", "60 points"),
            ("fr", "60 points"), ("", "60 points"), ("*", "60 points"), ("fr;q=1, zh-Hant;q=0.2, en;q=0.1", "60 學點"),
            ("en;q=0.1, pt-BR;q=0.9", "60 pontos"), ("zh-Hant;q=0, en", "60 points"), ("🙂, ;;;q=", "60 points"),
        ])
    func preference(_ header: String, _ name: String) {
        #expect(names.name(preferring: header) == name)
    }

    @Test("One language is enough: without English, the first by its tag stands in")
    func one() {
        let french = ProductNames(["fr": "60 points de fidélité"])
        #expect(french.name(preferring: "zh") == "60 points de fidélité")
        #expect(french.en == french.zh && french[.chinese] == "60 points de fidélité")
        #expect(ProductNames(["zh": "学点", "fr": "points"]).en == "points")
    }

    @Test("All languages are kept, and en and zh are always written, for apps of earlier versions")
    func coding() throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let text = String(decoding: try encoder.encode(ProductNames(["en": "a", "de": "b"])), as: UTF8.self)
        #expect(text == #"{"de":"b","en":"a","zh":"a"}"#)
        let read = try JSONDecoder().decode(ProductNames.self, from: Data(#"{"en":"a","ja":"c"}"#.utf8))
        #expect(read.all == ["en": "a", "ja": "c"])
        #expect(try JSONDecoder().decode(LocalizedText.self, from: Data(text.utf8)) == LocalizedText(en: "a", zh: "a"))
    }

    @Test(
        "The catalogue refuses a product without a name, with an empty one, and with a key that is no language",
        arguments: [[:], ["en": ""], ["en": "a", "zh": ""], ["english!": "a"], ["e": "a"], ["en": "a", "zh_CN": "b"]])
    func findings(_ names: [String: String]) {
        func codes(_ names: ProductNames) -> [Catalog.Finding.Code] {
            Catalog(products: [
                CatalogProduct(
                    id: ProductID("p"), type: .consumable, names: names,
                    price: Money(amount: 600, currency: Currency("CNY")), points: ["points": 60])
            ]).findings.map(\.code)
        }
        #expect(codes(ProductNames(names)) == [.missingName])
        #expect(codes(ProductNames(["en": "60 points"])).isEmpty)
    }
}
