import CTillOpenSSL

/// A table of a P-256 key's multiples, as OpenSSL has one for the curve's generator. With it, a signature is checked in
/// half of the time. Making it costs as much as a hundred checks or more, and it takes 150 kB.
///
/// It only ever accepts: OpenSSL's own check decides what is refused (docs/decisions/0083).
// @unchecked: the groups are read-only after they are made.
final class KeyMultiples: @unchecked Sendable {
    private let curve: OpaquePointer
    /// The same curve with the key as its generator.
    private let keyed: OpaquePointer
    private let inversion: Inversion

    /// Nil if OpenSSL makes no such table.
    init?(of key: PublicKey) {
        guard let curve = EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1) else { return nil }
        guard let inversion = Inversion(modulo: EC_GROUP_get0_order(curve)),
            let keyed = Self.group(generatedBy: key, curve)
        else {
            EC_GROUP_free(curve)
            return nil
        }
        (self.curve, self.keyed, self.inversion) = (curve, keyed, inversion)
    }

    deinit {
        EC_GROUP_free(keyed)
        EC_GROUP_free(curve)
    }

    /// Inverses modulo a prime number. OpenSSL multiplies each with its number, and computes what is not right as the
    /// power with the prime number less two (Fermat).
    private final class Inversion {
        private let quick: ModularInverse
        private let (exponent, montgomery): (OpaquePointer, OpaquePointer)
        private let modulus: OpaquePointer

        /// - Parameter prime: of 256 bits; must outlive it.
        init?(modulo prime: OpaquePointer?) {
            var bytes = [UInt8](repeating: 0, count: 32)
            guard let prime, BN_bn2binpad(prime, &bytes, 32) == 32, let quick = ModularInverse(modulo: bytes),
                let exponent = BN_dup(prime)
            else { return nil }
            guard let montgomery = BN_MONT_CTX_new(), let context = BN_CTX_new() else {
                BN_free(exponent)
                return nil
            }
            self.quick = quick
            (self.exponent, self.montgomery, modulus) = (exponent, montgomery, prime)
            defer { BN_CTX_free(context) }
            guard BN_sub_word(exponent, 2) == 1, BN_MONT_CTX_set(montgomery, prime, context) == 1 else { return nil }
        }

        deinit {
            BN_MONT_CTX_free(montgomery)
            BN_free(exponent)
        }

        /// - Parameters:
        ///   - number: not zero, and less than the prime number.
        ///   - bytes: the same number, big-endian.
        ///   - inverse: set to its inverse.
        func invert(
            _ number: OpaquePointer, _ bytes: [UInt8], _ inverse: OpaquePointer, _ product: OpaquePointer,
            _ context: OpaquePointer
        ) -> Bool {
            if let found = quick.of(bytes), BN_bin2bn(found, 32, inverse) != nil,
                BN_mod_mul(product, number, inverse, modulus, context) == 1, BN_is_one(product) == 1
            {
                return true
            }
            return BN_mod_exp_mont(inverse, number, exponent, modulus, context, montgomery) == 1
        }
    }

    /// Every point except infinity generates the curve, whose order is a prime number.
    private static func group(generatedBy key: PublicKey, _ curve: OpaquePointer) -> OpaquePointer? {
        var encoded: UnsafeMutablePointer<UInt8>?
        let length = EVP_PKEY_get1_encoded_public_key(key.handle, &encoded)
        defer { CRYPTO_free(encoded, nil, 0) }
        guard length > 0, let encoded, let group = EC_GROUP_dup(curve), let point = EC_POINT_new(group) else {
            return nil
        }
        defer { EC_POINT_free(point) }
        guard EC_POINT_oct2point(group, point, encoded, length, nil) == 1,
            EC_POINT_is_at_infinity(group, point) == 0,
            EC_GROUP_set_generator(group, point, EC_GROUP_get0_order(curve), BN_value_one()) == 1,
            till_ec_precompute(group, nil) == 1
        else {
            EC_GROUP_free(group)
            return nil
        }
        return group
    }

    /// Whether r‖s (64 bytes) is the key's signature of a SHA-256 digest, by FIPS 186-5 §6.4.2.
    func accepts(_ signature: [UInt8], of digest: UnsafePointer<UInt8>, _ scratch: Scratch) -> Bool {
        guard signature.count == 64 else { return false }
        let (order, context) = (EC_GROUP_get0_order(curve), scratch.context)
        signature.withUnsafeBufferPointer { bytes in
            _ = BN_bin2bn(bytes.baseAddress, 32, scratch.r)
            _ = BN_bin2bn(bytes.baseAddress.map { $0 + 32 }, 32, scratch.s)
        }
        guard BN_is_zero(scratch.r) == 0, BN_is_zero(scratch.s) == 0, BN_cmp(scratch.r, order) < 0,
            BN_cmp(scratch.s, order) < 0, BN_bin2bn(digest, 32, scratch.first) != nil,
            inversion.invert(scratch.s, Array(signature[32...]), scratch.inverse, scratch.second, context),
            BN_mod_mul(scratch.first, scratch.first, scratch.inverse, order, context) == 1,
            BN_mod_mul(scratch.second, scratch.r, scratch.inverse, order, context) == 1,
            EC_POINT_mul(curve, scratch.sum, scratch.first, nil, nil, context) == 1,
            EC_POINT_mul(keyed, scratch.part, scratch.second, nil, nil, context) == 1,
            EC_POINT_add(curve, scratch.sum, scratch.sum, scratch.part, context) == 1,
            EC_POINT_is_at_infinity(curve, scratch.sum) == 0
        else { return false }
        return hasCoordinate(scratch)
    }

    /// Whether the sum's x coordinate is r modulo the order. Both are less than the field's prime number, so it is r or
    /// r and once the order.
    private func hasCoordinate(_ scratch: Scratch) -> Bool {
        guard let field = EC_GROUP_get0_field(curve),
            till_ec_jacobian(curve, scratch.sum, scratch.first, scratch.second, scratch.context) == 1,
            BN_mod_sqr(scratch.second, scratch.second, field, scratch.context) == 1
        else { return false }
        func isX(_ number: OpaquePointer) -> Bool {
            BN_mod_mul(scratch.inverse, number, scratch.second, field, scratch.context) == 1
                && BN_cmp(scratch.inverse, scratch.first) == 0
        }
        if isX(scratch.r) { return true }
        return BN_add(scratch.s, scratch.r, EC_GROUP_get0_order(curve)) == 1 && BN_cmp(scratch.s, field) < 0
            && isX(scratch.s)
    }

    /// Numbers and points that one thread at a time computes with.
    final class Scratch {
        fileprivate let context: OpaquePointer
        fileprivate let (r, s, inverse): (OpaquePointer, OpaquePointer, OpaquePointer)
        fileprivate let (first, second): (OpaquePointer, OpaquePointer)
        fileprivate let (sum, part): (OpaquePointer, OpaquePointer)

        /// Nil if there is no memory.
        init?(for multiples: KeyMultiples) {
            guard let context = BN_CTX_new(), let r = BN_new(), let s = BN_new(), let inverse = BN_new(),
                let first = BN_new(), let second = BN_new(), let sum = EC_POINT_new(multiples.curve),
                let part = EC_POINT_new(multiples.keyed)
            else { return nil }
            self.context = context
            (self.r, self.s, self.inverse, self.first, self.second) = (r, s, inverse, first, second)
            (self.sum, self.part) = (sum, part)
        }

        deinit {
            for number in [r, s, inverse, first, second] { BN_free(number) }
            EC_POINT_free(sum)
            EC_POINT_free(part)
            BN_CTX_free(context)
        }
    }
}
