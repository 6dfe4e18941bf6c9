import Foundation
import Testing
import TillBilling
import TillEmulator
import TillJSON

@testable import till

@Suite("The sample shops of till init, till emulate and the examples")
struct SampleShopTests {
    @Test("The catalogue file is the emulated store's list with its grants, and reads back the same")
    func file() throws {
        for sample in SampleShop.allCases {
            let read = try JSONDecoder().decode(Catalog.self, from: Data(sample.catalogText.utf8))
            #expect(read.products == sample.catalog.products && read.findings.isEmpty)
            #expect(read.products.map(\.id) == sample.products().map(\.id))
            #expect(read.products.allSatisfy { $0.id.text.hasPrefix(sample.bundleID + ".") && !$0.prices.isEmpty })
        }
    }

    @Test("The renewed plans form one subscription group, with Premium on the higher level (C4)")
    func group() {
        let renewed = SampleShop.cloudPlans.products().compactMap(\.subscription)
        #expect(renewed.map(\.level) == [2, 2, 1, 1] && Set(renewed.map(\.groupID)).count == 1)
        #expect(renewed.map(\.period) == [.month, .year, .month, .year])
    }

    @Test("The products in the documents are those of the samples")
    func documents() throws {
        let docs = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../../docs")
        for (name, sample) in [("configuration", SampleShop.learnPoints), ("plans", .cloudPlans)] {
            for ending in ["md", "zh-CN.md"] {
                let text = try String(contentsOf: docs.appendingPathComponent("\(name).\(ending)"), encoding: .utf8)
                let blocks = text.components(separatedBy: "```json\n").dropFirst()
                    .compactMap { $0.components(separatedBy: "\n```").first }
                let block = try #require(
                    blocks.first { $0.contains("\(sample.bundleID).") && $0.contains("\"names\"") })
                var product = try JSONValue(decoding: block)
                if let first = product["products"]?.array?.first { product = first }
                let shown = try JSONDecoder().decode(CatalogProduct.self, from: Data(product.encoded().utf8))
                #expect(sample.catalog[shown.id] == shown, "\(name).\(ending)")
            }
        }
    }
}
