import CTillOpenSSL

/// A certificate's subject or issuer as the text of RFC 4514.
enum DistinguishedName {
    static func text(of name: OpaquePointer?) -> String {
        clearingErrors {
            var parts: [String] = []
            var currentSet: Int32 = -1
            for index in 0..<max(0, X509_NAME_entry_count(name)) {
                guard let entry = X509_NAME_get_entry(name, index) else { continue }
                let text = "\(type(of: entry))=\(escaped(value(of: entry)))"
                let set = X509_NAME_ENTRY_set(entry)
                if set == currentSet, let last = parts.popLast() {
                    parts.append("\(last)+\(text)")
                } else {
                    parts.append(text)
                }
                currentSet = set
            }
            return parts.reversed().joined(separator: ",")
        }
    }

    /// The short names of RFC 4514 §3; every other type by its dotted decimal.
    private static func type(of entry: OpaquePointer) -> String {
        let object = X509_NAME_ENTRY_get_object(entry)
        switch OBJ_obj2nid(object) {
        case NID_commonName: return "CN"
        case NID_localityName: return "L"
        case NID_stateOrProvinceName: return "ST"
        case NID_organizationName: return "O"
        case NID_organizationalUnitName: return "OU"
        case NID_countryName: return "C"
        case NID_streetAddress: return "STREET"
        case NID_domainComponent: return "DC"
        case NID_userId: return "UID"
        default:
            var buffer = [CChar](repeating: 0, count: 128)
            let length = OBJ_obj2txt(&buffer, Int32(buffer.count), object, 1)
            let shown = buffer.prefix(max(0, min(Int(length), buffer.count - 1)))
            return String(decoding: shown.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }
    }

    private static func value(of entry: OpaquePointer) -> String {
        var bytes: UnsafeMutablePointer<UInt8>?
        let length = ASN1_STRING_to_UTF8(&bytes, X509_NAME_ENTRY_get_data(entry))
        defer { CRYPTO_free(bytes, nil, 0) }
        guard length > 0 else { return "" }
        return String(decoding: UnsafeBufferPointer(start: bytes, count: Int(length)), as: UTF8.self)
    }

    /// RFC 4514 §2.4: the characters with a meaning get a backslash, as do a leading `#` or blank and a last blank.
    private static func escaped(_ value: String) -> String {
        let scalars = Array(value.unicodeScalars)
        var text = ""
        for (index, scalar) in scalars.enumerated() {
            switch scalar {
            case "\\", "\"", "+", ",", ";", "<", ">": text += "\\"
            case "#" where index == 0: text += "\\"
            case " " where index == scalars.count - 1 || index == 0: text += "\\"
            case "\0":
                text += "\\00"
                continue
            default: break
            }
            text.unicodeScalars.append(scalar)
        }
        return text
    }
}
