import Foundation
import Testing

@testable import TillBilling

@Suite("Identifiers compare by their bytes") struct IdentifierTests {
    @Test("Texts that Unicode treats as equivalent are different identifiers, in sets, in order and in JSON")
    func bytes() throws {
        let pairs = [
            ("\u{212A}arl", "Karl"), ("Jose\u{301}", "Jos\u{E9}"), ("\u{212B}", "\u{C5}"), ("a\u{37E}", "a;"),
            ("\u{1100}\u{1161}", "\u{AC00}"), ("karl", "Karl"),
        ]
        for (one, two) in pairs {
            #expect(UserID(one) != UserID(two) && UserID(one) == UserID(one))
            #expect(Set([UserID(one), UserID(two), UserID(one)]).count == 2)
            #expect((UserID(one) < UserID(two)) != (UserID(two) < UserID(one)))
            #expect([UserID(one): 1][UserID(two)] == nil)
            let data = try JSONEncoder().encode([UserID(one)])
            #expect(try JSONDecoder().decode([UserID].self, from: data) == [UserID(one)])
            #expect(try JSONDecoder().decode([UserID].self, from: data) != [UserID(two)])
        }
        // A text bridged from Foundation has the same bytes in any storage.
        let bridged = NSString(string: "Jos\u{E9} \u{1F34A}") as String
        #expect(UserID(bridged) == UserID("Jos\u{E9} \u{1F34A}"))
        #expect(UserID(bridged).hashValue == UserID("Jos\u{E9} \u{1F34A}").hashValue)
    }

    @Test("Every character, alone and beside marks, is in normalization form C exactly if Foundation says so")
    func everyCharacter() {
        var (tried, differing): (Int, [String]) = (0, [])
        for value in UInt32(0)...0x10FFFF {
            guard let scalar = Unicode.Scalar(value), scalar.properties.generalCategory != .unassigned,
                // Characters newer than the table count as normalized.
                scalar.properties.age.map({ $0.major <= 14 }) == true
            else { continue }
            let character = String(Character(scalar))
            // Beside marks, Foundation on Linux treats U+10041 as U+0041; the script compares those with Python.
            let beside = ["e" + character + "\u{301}", "\u{E9}" + character, character + "\u{323}\u{302}"]
            for text in [character] + (value < 0x10000 ? beside : []) {
                tried += 1
                let normal = text.precomposedStringWithCanonicalMapping
                if text.isNormalized != normal.hasSameBytes(as: text) { differing.append(text) }
            }
        }
        #expect(tried > 450_000)
        let shown = differing.prefix(20).map { $0.unicodeScalars.map(\.codePoint).joined(separator: " ") }
        #expect(differing.isEmpty, "\(differing.count) texts: \(shown)")
    }

    @Test("Words of many scripts are in normalization form C, and their decompositions are not")
    func words() {
        for word in ["Jos\u{E9}", "한국어", "தமிழ்நாடு", "বাংলা", "Tiếng Việt", "हिन्दी", "日本語", "עברית", "العربية", "user-1"] {
            #expect(word.isNormalized, "\(word)")
        }
        for text in ["Jose\u{301}", "\u{212A}arl", "\u{1112}\u{1161}", "e\u{302}\u{323}", "\u{340}"] {
            #expect(!text.isNormalized, "\(text)")
        }
    }

    @Test("Control characters, direction marks, line separators and noncharacters are found; ordinary text is not")
    func forbidden() {
        let refused: [ClosedRange<UInt32>] = [
            0...0x1F, 0x7F...0x9F, 0x61C...0x61C, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069, 0xFDD0...0xFDEF,
        ]
        for value in UInt32(0)...0x10FFFF {
            guard let scalar = Unicode.Scalar(value) else { continue }
            let isRefused = refused.contains { $0.contains(value) } || value & 0xFFFE == 0xFFFE
            #expect(("a" + String(Character(scalar))).firstForbiddenScalar == (isRefused ? scalar : nil))
        }
        #expect(Unicode.Scalar(0x85 as UInt8).codePoint == "U+0085")
    }
}
