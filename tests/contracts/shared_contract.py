"""x"""
class SharedContract: pass
