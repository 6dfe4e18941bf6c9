import TillBilling

extension StoreRefusal {
    static func missingMetadata(_ id: String, _ missing: [String]) -> StoreRefusal {
        let names = missing.joined(separator: ", ")
        return StoreRefusal(
            "missing_metadata", status: 409, "\(id) can't be submitted yet: \(names) is missing.",
            "\(id) 还不能提交审核：缺少 \(names)。")
    }

    static func needsAppVersion(_ id: String) -> StoreRefusal {
        StoreRefusal(
            "needs_app_version", status: 409,
            "\(id) would be the app's first product, which is submitted together with an app version: "
                + "send {\"withAppVersion\": true}.",
            "\(id) 是此 App 的首个商品，须与 App 版本一起提交：请发送 {\"withAppVersion\": true}。")
    }

    static func notOnSale(_ id: String, _ state: ProductState) -> StoreRefusal {
        StoreRefusal(
            "not_on_sale", status: 409,
            "\(id) can't be bought: its state is \(state.rawValue). POST /emulator/products/\(id)/submit and the other "
                + "steps of the review change that.",
            "\(id) 当前不能购买：状态为 \(state.rawValue)。可用 POST /emulator/products/\(id)/submit 等审核步骤更改。")
    }

    static func illegalStep(_ id: String, _ step: ProductReview.Step, _ state: ProductState) -> StoreRefusal {
        let steps = ProductReview.steps(from: state).map(\.rawValue).joined(separator: ", ")
        return StoreRefusal(
            "illegal_step", status: 409,
            "\(id) is \(state.rawValue): \(step.rawValue) does not lead on from there"
                + (steps.isEmpty ? "." : ", but \(steps) does."),
            "\(id) 处于 \(state.rawValue)，不能 \(step.rawValue)" + (steps.isEmpty ? "。" : "，可以：\(steps)。"))
    }

    static func kindIsFixed(_ id: String, _ kind: ProductType) -> StoreRefusal {
        StoreRefusal(
            "kind_is_fixed", status: 409,
            "\(id) is a \(kind.rawValue) for ever: a product of another kind needs an id of its own.",
            "\(id) 的类型永远是 \(kind.rawValue)：其他类型的商品需要新的 id。")
    }

    static func idWasUsed(_ id: String) -> StoreRefusal {
        StoreRefusal(
            "id_was_used", status: 409,
            "\(id) was sold and removed, and App Store Connect gives no id twice: choose another, or say ?force=true.",
            "\(id) 曾经使用并已删除，App Store Connect 不允许再次使用：请换一个 id，或加上 ?force=true。")
    }

    static func notEditable(_ id: String, _ state: ProductState) -> StoreRefusal {
        StoreRefusal(
            "not_editable", status: 409,
            "\(id) is \(state.rawValue): only its name and its prices can be edited now.",
            "\(id) 处于 \(state.rawValue)：现在只能修改名称和价格。")
    }
}
