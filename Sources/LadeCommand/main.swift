print("lade")
