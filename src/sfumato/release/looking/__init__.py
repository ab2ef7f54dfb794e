"""What people look at before and after masking: files, columns, pairs; nothing is made here."""
