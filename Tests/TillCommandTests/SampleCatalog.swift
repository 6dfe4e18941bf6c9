/// The smallest catalogue a server would start with.
let sampleCatalog = """
    {"products": [{"id": "p", "type": "Consumable", "names": {"en": "P", "zh": "点"}, \
    "price": {"amount": 600, "currency": "CNY"}, "points": {"points": 60}}]}
    """
