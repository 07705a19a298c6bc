"""tour"""
