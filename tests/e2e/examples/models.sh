curl https://api.subsidia.protypa.fr/v1/models \
  -H "Authorization: Bearer $SUBSIDIA_API_KEY"
