import skillwire

if __name__ == "__main__":
    skillwire.serve("skills", name="acme-skills", version="1.0")
