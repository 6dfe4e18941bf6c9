extension Catalog {
    /// What is wrong with the plans of a catalogue. None of it may surface only when somebody's balance is converted.
    var planFindings: [Finding] {
        let sold = products.compactMap { product in product.plan.map { (product, $0) } }
        var terms: [PlanID: PlanTerms] = [:]
        var found: [Finding] = []
        for (product, plan) in sold {
            found += Self.unusable(product, plan)
            let first = terms[plan.id] ?? plan
            terms[plan.id] = first
            if !first.agrees(with: plan) {
                found.append(
                    Finding(
                        code: .planDiffers, product: product.id,
                        sentence: Text(
                            en: "Plan \(plan.id) of \(product.id) has another length, rank or scope elsewhere. Make "
                                + "them the same.",
                            zh: "商品 \(product.id) 的套餐 \(plan.id) 在别处的时长、等级或适用范围不同。请统一。")))
            }
        }
        return found + Self.currencies(sold.compactMap { Plan(soldBy: $0.0) })
    }

    private static func unusable(_ product: Product, _ plan: PlanTerms) -> [Finding] {
        let isNamed = [plan.id.text, plan.rank ?? plan.id.text].allSatisfy { ProductID($0).isWellFormed }
        let isSoldForATime = [.consumable, .nonRenewing, .autoRenewable].contains(product.type)
        guard !isNamed || !isSoldForATime else { return [] }
        return [
            Finding(
                code: .badPlan, product: product.id,
                sentence: Text(
                    en: "The plan of \(product.id) is not usable: its id and rank are like product ids, and it is "
                        + "sold as a consumable, a non-renewing or an auto-renewable subscription.",
                    zh: "商品 \(product.id) 的套餐不可用：套餐 id 和等级的写法同商品 ID，"
                        + "商品类型须为消耗型、非续期订阅或自动续期订阅。"))
        ]
    }

    /// Balances are counted in the list prices of one currency (C5).
    private static func currencies(_ plans: [Plan]) -> [Finding] {
        let all = Set(plans.map(\.price.currency)).sorted().map(\.text)
        guard all.count > 1 else { return [] }
        return [
            Finding(
                code: .planCurrencies, product: nil,
                sentence: Text(
                    en: "Plans are priced in \(all.joined(separator: ", ")). Use one currency for all of them.",
                    zh: "套餐的价格用了多种货币：\(all.joined(separator: "、"))。请统一为一种。"))
        ]
    }
}

extension PlanTerms {
    fileprivate func agrees(with other: PlanTerms) -> Bool {
        length.days == other.length.days && (rank ?? id.text) == (other.rank ?? other.id.text)
            && (scope ?? .account) == (other.scope ?? .account)
    }
}
