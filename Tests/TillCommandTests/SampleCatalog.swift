/// The smallest catalogue with which a server starts.
let sampleCatalog = """
    {"products": [{"id": "p", "type": "Consumable", "names": {"en": "P", "zh": "点"}, \
    "price": {"amount": 600, "currency": "CNY"}, "points": {"points": 60}}]}
    """
